import { byId, createElement, formatDuration } from './dom.js';

type QuotaWindow = ReturnType<typeof readWindows>[number];

/**
 * Reads the windows from the fields `RateLimit` and `RateLimit-Policy` of the IETF draft. A reset is
 * a value of `performance.now()`.
 */
function readWindows(headers: Headers) {
  const nowMs = performance.now();
  const policies = (headers.get('RateLimit-Policy') ?? '').matchAll(/"([^"]+)";q=(\d+)/g);
  const quotas = new Map(Array.from(policies, ([, name, quota]) => [name, Number(quota)]));
  const windows = (headers.get('RateLimit') ?? '').matchAll(/"([^"]+)";r=(\d+);t=(\d+)/g);
  return Array.from(windows, ([, name = '', remaining, seconds]) => ({
    name,
    quota: quotas.get(name) ?? 0,
    remaining: Number(remaining),
    resetAtMs: nowMs + Number(seconds) * 1_000,
  }));
}

/**
 * Shows the quota windows that the header fields describe, under a caption. Returns a function that
 * updates the time to their resets.
 */
export function showQuota(caption: string, headers: Headers): () => void {
  byId('quota-of', HTMLElement).textContent = caption;
  const meters = readWindows(headers).map(createMeter);
  byId('quota', HTMLElement).replaceChildren(...meters.map(({ element }) => element));
  return () => {
    for (const { update } of meters) update();
  };
}

function createMeter({ name, quota, remaining, resetAtMs }: QuotaWindow) {
  const left = createElement('span', 'left');
  const reset = createElement('span', 'hint');
  const fill = createElement('div', 'fill');
  const bar = createElement('div', 'bar', fill);
  bar.role = 'meter';
  bar.ariaLabel = `Remaining requests, window ${name}`;
  bar.ariaValueMin = '0';
  bar.ariaValueMax = `${quota}`;

  function update(): void {
    const waitMs = resetAtMs - performance.now();
    const remainingNow = waitMs > 0 ? remaining : quota;
    left.textContent = `${remainingNow.toLocaleString('en')} of ${quota.toLocaleString('en')} left`;
    reset.textContent = remainingNow === quota ? 'full' : `full in ${formatDuration(waitMs)}`;
    bar.ariaValueNow = `${remainingNow}`;
    bar.classList.toggle('low', remainingNow <= quota / 10);
    fill.style.width = `${(100 * remainingNow) / quota}%`;
  }

  return { element: createElement('div', 'window', createElement('b', '', name), left, bar, reset), update };
}
