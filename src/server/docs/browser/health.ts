import { byId } from './dom.js';

const INTERVAL_MS = 30_000;

/** Shows the state of the server, as `/readyz` reports it. Updates it while the page is visible. */
export function watchHealth(): void {
  void showHealth();
  setInterval(() => {
    if (!document.hidden) void showHealth();
  }, INTERVAL_MS);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void showHealth();
  });
}

async function showHealth(): Promise<void> {
  const { state, text } = await readHealth();
  const element = byId('health', HTMLElement);
  element.dataset['state'] = state;
  element.textContent = text;
}

interface Health {
  readonly state: 'ok' | 'degraded' | 'unavailable';
  readonly text: string;
}

async function readHealth(): Promise<Health> {
  try {
    const response = await fetch(new URL('readyz', location.href), { cache: 'no-store', credentials: 'omit' });
    const { backends = {} } = await response.json();
    const failing = Object.entries(backends).filter(([, state]) => state !== 'ok');
    const names = failing.length === 0 ? '' : `: ${failing.map(([name]) => name).join(', ')}`;
    if (!response.ok) return { state: 'unavailable', text: `Not ready${names}` };
    return failing.length === 0 ? { state: 'ok', text: 'Ready' } : { state: 'degraded', text: `Degraded${names}` };
  } catch {
    return { state: 'unavailable', text: 'Not reachable' };
  }
}
