import { byId, everyHalfSecond, make } from './dom.js';
import { addQuotaSample, forgetQuotaSamples, renderQuotaHistory } from './quota-history.js';
import type { Answer } from './send.js';
import { duration } from './wait.js';

interface QuotaWindow {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  /** When the window resets, as a value of `performance.now()`. */
  readonly resetAtMs: number;
}

let updates: readonly (() => void)[] = [];
everyHalfSecond(() => {
  for (const update of updates) update();
});

const OF_KEY = 'Remaining requests for this key';
const OF_ADDRESS = 'Remaining requests for your address, without a valid key';

/**
 * Shows the quota windows that the header fields of a response describe, and counts down to their
 * resets. A response without such fields changes nothing.
 */
export function showQuota({ status, headers }: Answer): void {
  const windows = readWindows(headers);
  const [first] = windows;
  if (first === undefined) return;
  const subject = byId('quota-of', HTMLElement);
  if (status !== 429) {
    const text = status === 400 || status === 401 ? OF_ADDRESS : OF_KEY;
    if (subject.textContent !== text) forgetQuotaSamples();
    subject.textContent = text;
  }
  addQuotaSample({ ...first, atMs: performance.now(), isRefused: status === 429 });
  const meters = windows.map(createMeter);
  const history = make('figure', 'past');
  updates = [
    ...meters.map(({ update }) => update),
    () => history.replaceChildren(...renderQuotaHistory(performance.now())),
  ];
  for (const update of updates) update();
  byId('quota', HTMLElement).replaceChildren(...meters.map(({ element }) => element), history);
}

/**
 * Clears the display after the key has changed. The quotas of the new key are unknown until the
 * first response to it.
 */
export function forgetQuota(): void {
  updates = [];
  forgetQuotaSamples();
  byId('quota-of', HTMLElement).textContent = 'Send a request to see the quota of this key.';
  byId('quota', HTMLElement).replaceChildren();
}

/**
 * Reads all windows from the fields `RateLimit` and `RateLimit-Policy` of the IETF draft. Without
 * these fields, reads the one window that the fields `X-RateLimit-*` describe.
 */
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

  const element = make('div', 'window', make('b', '', name), left, bar, reset);
  return { element, update };
}
