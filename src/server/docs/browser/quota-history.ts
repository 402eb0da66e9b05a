import { make } from './dom.js';

const SHOWN_MS = 5 * 60_000;
const WIDTH = 300;
const HEIGHT = 48;

/**
 * The state of the first quota window that a response reports. All times are values of
 * `performance.now()`.
 */
export interface QuotaSample {
  readonly atMs: number;
  readonly remaining: number;
  readonly quota: number;
  readonly resetAtMs: number;
  readonly isRefused: boolean;
}

let samples: QuotaSample[] = [];

export function addQuotaSample(sample: QuotaSample): void {
  samples.push(sample);
}

export function forgetQuotaSamples(): void {
  samples = [];
}

/**
 * Draws a chart of the last five minutes. A line shows the remaining requests, and a short stroke
 * at the bottom shows each request that was sent.
 */
export function renderQuotaHistory(nowMs: number): Node[] {
  const startMs = nowMs - SHOWN_MS;
  // Keeps the last sample before the start of the chart, because the line begins at the value of
  // that sample.
  samples = samples.filter(({ atMs }, index) => atMs >= startMs || (samples[index + 1]?.atMs ?? nowMs) >= startMs);
  const x = (ms: number) => Math.max(0, ((ms - startMs) / SHOWN_MS) * WIDTH).toFixed(1);
  const y = (remaining: number, quota: number) => (2 + (1 - remaining / quota) * (HEIGHT - 4)).toFixed(1);
  let line = '';
  samples.forEach(({ atMs, remaining, quota, resetAtMs }, index) => {
    const endMs = samples[index + 1]?.atMs ?? nowMs;
    line += `${line === '' ? 'M' : 'L'}${x(atMs)} ${y(remaining, quota)}`;
    if (resetAtMs < endMs) line += `H${x(resetAtMs)}V${y(quota, quota)}`;
    line += `H${x(endMs)}`;
  });
  const shown = samples.filter(({ atMs }) => atMs >= startMs);
  const ticks = (isRefused: boolean) =>
    shown
      .filter((sample) => sample.isRefused === isRefused)
      .map(({ atMs }) => `M${x(atMs)} ${HEIGHT}v${isRefused ? -10 : -6}`)
      .join('');
  const svg = svgElement('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    class: 'history',
    'aria-hidden': 'true',
  });
  const refused = shown.filter(({ isRefused }) => isRefused).length;
  const count = `${shown.length} sent${refused === 0 ? '' : `, ${refused} refused`}`;
  const captions = ['5 min ago', count, 'now'].map((text) => make('span', '', text));
  svg.append(
    svgElement('path', { d: `M0 ${HEIGHT}H${WIDTH}`, class: 'axis' }),
    svgElement('path', { d: `${line}V${HEIGHT}H${x(samples[0]?.atMs ?? nowMs)}Z`, class: 'area' }),
    svgElement('path', { d: line }),
    svgElement('path', { d: ticks(false) }),
    svgElement('path', { d: ticks(true), class: 'refused' }),
  );
  return [svg, make('figcaption', 'hint', ...captions)];
}

function svgElement<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}
