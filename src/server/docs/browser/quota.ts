import { byId, duration, make } from './dom.js';

interface QuotaWindow {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  /** When the window resets, as a value of `performance.now()`. */
  readonly resetAtMs: number;
}

/**
 * Reads all windows from the fields `RateLimit` and `RateLimit-Policy` of the IETF draft. Without
 * these fields, reads the one window that the fields `X-RateLimit-*` describe.
 */
function readWindows(headers: Headers): readonly QuotaWindow[] {
  const nowMs = performance.now();
  const policies = (headers.get('RateLimit-Policy') ?? '').matchAll(/"([^"]+)";q=(\d+)/g);
  const quotas = new Map(Array.from(policies, ([, name = '', quota]) => [name, Number(quota)]));
  const windows = Array.from(
    (headers.get('RateLimit') ?? '').matchAll(/"([^"]+)";r=(\d+);t=(\d+)/g),
    ([, name = '', remaining, seconds]) => ({
      name,
      quota: quotas.get(name) ?? Number(remaining),
      remaining: Number(remaining),
      resetAtMs: nowMs + Number(seconds) * 1_000,
    }),
  );
  const limit = headers.get('X-RateLimit-Limit');
  if (windows.length > 0 || limit === null) return windows;
  const remaining = Number(headers.get('X-RateLimit-Remaining'));
  const resetAtMs = nowMs + Number(headers.get('X-RateLimit-Reset')) * 1_000 - Date.now();
  return [{ name: 'in force', quota: Number(limit), remaining, resetAtMs }];
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
  const left = make('span', 'left');
  const reset = make('span', 'hint');
  const fill = make('div', 'fill');
  const bar = make('div', 'bar', fill);
  bar.role = 'meter';
  bar.ariaLabel = `Remaining requests, window ${name}`;
  bar.ariaValueMin = '0';
  bar.ariaValueMax = `${quota}`;

  function update(): void {
    const waitMs = resetAtMs - performance.now();
    const now = waitMs > 0 ? remaining : quota;
    left.textContent = `${now.toLocaleString('en')} of ${quota.toLocaleString('en')} left`;
    reset.textContent = now === quota ? 'full' : `full in ${duration(waitMs)}`;
    bar.ariaValueNow = `${now}`;
    bar.classList.toggle('low', now <= quota / 10);
    fill.style.width = `${(100 * now) / quota}%`;
  }

  return { element: make('div', 'window', make('b', '', name), left, bar, reset), update };
}
