/** Marks the navigation link to the section to which the reader has scrolled. */
export function followReading(): void {
  const links = Array.from(document.querySelectorAll('nav a'));
  const sections = links.flatMap((link) => document.querySelector(link.getAttribute('href') ?? '') ?? []);

  function mark(): void {
    // The last section that begins in the upper third of the window, or above the window.
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
