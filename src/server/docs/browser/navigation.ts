/** Marks the link to the section that is being read. */
export function followReading(): void {
  const links = Array.from(document.querySelectorAll('nav a'));
  const sections = links.flatMap((link) => document.querySelector(link.getAttribute('href') ?? '') ?? []);

  function mark(): void {
    // The last section that begins above the middle third of the window.
    const current = sections.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3);
    for (const link of links) {
      link.ariaCurrent = link.getAttribute('href') === `#${current?.id}` ? 'location' : null;
    }
  }

  let isPending = false;
  document.addEventListener('scroll', () => {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      mark();
    });
  });
  mark();
}
