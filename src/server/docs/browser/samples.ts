import { announce } from './dom.js';

/**
 * Writes the base address into the request samples, and enables their copy buttons and the choice
 * of a language. All samples are shown in the same language.
 */
export function enableSamples(base: string): void {
  for (const element of document.querySelectorAll('[data-fill=base]')) element.textContent = base;
  document.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLButtonElement && target.className === 'copy') void copy(target);
  });
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.type !== 'radio') return;
    for (const other of document.querySelectorAll('input[type=radio]')) {
      if (other instanceof HTMLInputElement && other.value === target.value) other.checked = true;
    }
  });
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const blocks = button.closest('.code')?.querySelectorAll('pre') ?? [];
  const source = Array.from(blocks).find((block) => block.checkVisibility());
  if (source === undefined) return;
  try {
    await navigator.clipboard.writeText(source.textContent ?? '');
    announce('Copied.');
  } catch {
    // Browsers provide the clipboard only over https and on loopback. Elsewhere the text is
    // selected, so that the user can copy it.
    getSelection()?.selectAllChildren(source);
    announce('The text is selected. Copy it with the keyboard.');
  }
}
