import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { median } from './statistics.js';

/** A bar chart with a panel for each `Point.x`. */
export interface Chart {
  /** The name of its file in `charts/`, without extension. */
  readonly name: string;
  /** The alternative text of the image. */
  readonly title: string;
  readonly y: string;
  /** The value at which a dashed line crosses the bars, for comparison. */
  readonly rule: number;
  readonly points: readonly Point[];
}

export interface Point {
  readonly series: string;
  /** The role of the series. Default: a rival. */
  readonly role?: 'ours' | 'floor' | undefined;
  /** The name of the panel. */
  readonly x: string;
  /** One value per round. The chart shows the median of the values, and their range. */
  readonly values: readonly number[];
}

const WIDTH = 800;
const OURS = '#1f7fd6';
const FLOOR = '#8b949e';
const RIVAL = '#c98b5a';
/** The image follows the system's colour scheme. */
const STYLE = '<style>svg{color:#3d444d}@media(prefers-color-scheme:dark){svg{color:#c3ccd6}}</style>';

/** Draws the chart as an SVG document. */
export function draw({ y, rule, title, points: given }: Chart): string {
  const points = given.map(({ series, role, x, values }) => ({
    series,
    x,
    y: median(values),
    least: Math.min(...values),
    most: Math.max(...values),
    colour: role === undefined ? RIVAL : { ours: OURS, floor: FLOOR }[role],
  }));
  const most = Math.max(...points.map((point) => point.most));
  const names = [...new Set(points.map(({ series }) => series))];
  return print(title, {
    width: WIDTH,
    height: 78 + names.length * 24,
    marginLeft: 215,
    marginBottom: 44,
    marginTop: 34,
    x: { label: y, domain: [0, most * 1.18], grid: true, ticks: 3, labelAnchor: 'center' },
    y: { label: null, domain: names, tickSize: 0 },
    fx: { label: null, domain: [...new Set(points.map(({ x }) => x))], padding: 0.06 },
    marks: [
      Plot.barX(points, { x: 'y', y: 'series', fx: 'x', fill: 'colour', insetTop: 1, insetBottom: 1 }),
      Plot.ruleY(points, { x1: 'least', x2: 'most', y: 'series', fx: 'x', strokeWidth: 1.5 }),
      Plot.text(points, {
        x: 'most',
        y: 'series',
        fx: 'x',
        dx: 5,
        textAnchor: 'start',
        text: ({ y }) => y.toFixed(2),
      }),
      Plot.ruleX([rule], { strokeDasharray: '3,3' }),
    ],
  });
}

function print(title: string, options: Plot.PlotOptions): string {
  const { document } = parseHTML('<html><body></body></html>');
  const svg = Plot.plot({ ...options, document, ariaLabel: title, style: { fontSize: '12px' } });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${svg.outerHTML.replace(/<style>.*?<\/style>/s, STYLE)}\n`;
}
