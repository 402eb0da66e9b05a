import { byId, everyHalfSecond, make } from './dom.js';
import type { Answer } from './send.js';
import { duration } from './wait.js';

interface QuotaWindow {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  /** On the clock of `performance`. */
  readonly resetAtMs: number;
}

let updates: readonly (() => void)[] = [];
everyHalfSecond(() => {
  for (const update of updates) update();
});

/** Shows the windows that an answer tells of, and goes on counting; an answer that tells of none changes nothing. */
export function showQuota({ status, headers }: Answer): void {
  const windows = readWindows(headers);
  if (windows.length === 0) return;
  if (status !== 429) {
    byId('quota-of', HTMLElement).textContent =
      status === 400 || status === 401 ? 'Of your address, as long as no valid key is sent.' : 'Of this key.';
  }
  const meters = windows.map(createMeter);
  updates = meters.map(({ update }) => update);
  for (const update of updates) update();
  byId('quota', HTMLElement).replaceChildren(...meters.map(({ element }) => element));
}

/** Another key has quotas of its own, and they are not known yet. */
export function forgetQuota(): void {
  updates = [];
  byId('quota-of', HTMLElement).textContent = 'Send a request to see the quota of this key.';
  byId('quota', HTMLElement).replaceChildren();
}

/** From the fields of the IETF draft, both windows; else from the trio, the one in force. */
function readWindows(headers: Headers): readonly QuotaWindow[] {
  const nowMs = performance.now();
  const quotas = new Map(
    Array.from((headers.get('RateLimit-Policy') ?? '').matchAll(/"([^"]+)";q=(\d+)/g), ([, name = '', quota]) => [
      name,
      Number(quota),
    ]),
  );
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

function createMeter({ name, quota, remaining, resetAtMs }: QuotaWindow) {
  const left = make('span', 'left');
  const reset = make('span', 'hint');
  const fill = make('div', 'fill');
  const bar = make('div', 'bar', fill);
  bar.role = 'meter';
  bar.ariaLabel = `Requests left, window ${name}`;
  bar.ariaValueMin = '0';
  bar.ariaValueMax = `${quota}`;

  function update(): void {
    const waitMs = resetAtMs - performance.now();
    const now = waitMs > 0 ? remaining : quota;
    left.textContent = `${now.toLocaleString('en')} of ${quota.toLocaleString('en')} left`;
    reset.textContent = now === quota ? 'full' : `full again in ${duration(waitMs)}`;
    bar.ariaValueNow = `${now}`;
    bar.classList.toggle('low', now <= quota / 10);
    fill.style.width = `${(100 * now) / quota}%`;
  }

  const element = make('div', 'window', make('b', '', name), left, bar, reset);
  return { element, update };
}
