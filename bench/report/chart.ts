import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { median } from './statistics.js';

/**
 * A bar chart or a line chart. A bar chart has a panel for each `Point.x`. A line chart has
 * `Point.x` on its horizontal axis, which is logarithmic.
 */
export interface Chart {
  /** The name of its file in `charts/`, without extension. */
  readonly name: string;
  /** The alternative text of the image. */
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  /** The label of the horizontal axis, in a line chart. */
  readonly x?: string;
  readonly y: string;
  /** The scale of `y` in a line chart. Default: linear, from 0. */
  readonly scale?: 'log' | 'linear';
  /** The value at which a dashed line crosses the bars, for comparison. */
  readonly rule?: number;
  readonly points: readonly Point[];
}

export interface Point {
  readonly series: string;
  /** The role of the series. Default: a rival. */
  readonly role?: 'ours' | 'floor' | undefined;
  /**
   * In a bar chart, the name of the panel. In a line chart, the position on the horizontal axis.
   */
  readonly x: number | string;
  /** One value per round. The chart shows the median of the values, and their range. */
  readonly values: readonly number[];
}

interface Drawn {
  readonly series: string;
  readonly x: number | string;
  readonly y: number;
  readonly least: number;
  readonly most: number;
  readonly colour: string;
}

const WIDTH = 800;
const OURS = '#1f7fd6';
const FLOOR = '#8b949e';
const RIVAL = '#c98b5a';
/**
 * The colours of rivals in a line chart. They can be told apart on white and on black, also by
 * colour-blind readers.
 */
const RIVALS = ['#d55e00', '#0f9d76', '#b8639a', '#a88400', '#7a5fd0', '#5c8fa8'];
const LINE_HEIGHT = 14;
/** The image follows the system's colour scheme. */
const STYLE = '<style>svg{color:#3d444d}@media(prefers-color-scheme:dark){svg{color:#c3ccd6}}</style>';

/** Draws the chart as an SVG document. */
export function draw(chart: Chart): string {
  const rivals = [...new Set(chart.points.filter(({ role }) => role === undefined).map(({ series }) => series))];
  const points = chart.points.map(({ series, role, x, values }): Drawn => {
    const rival = chart.kind === 'bars' ? RIVAL : (RIVALS[rivals.indexOf(series) % RIVALS.length] ?? RIVAL);
    const colour = role === undefined ? rival : { ours: OURS, floor: FLOOR }[role];
    return { series, x, y: median(values), least: Math.min(...values), most: Math.max(...values), colour };
  });
  return chart.kind === 'bars' ? drawBars(chart, points) : drawLines(chart, points);
}

function drawBars({ y, rule, title }: Chart, points: readonly Drawn[]): string {
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
        text: ({ y }: Drawn) => y.toFixed(2),
      }),
      ...(rule === undefined ? [] : [Plot.ruleX([rule], { strokeDasharray: '3,3' })]),
    ],
  });
}

function drawLines({ x, y, scale = 'linear', title }: Chart, points: readonly Drawn[]): string {
  const lasts = [...new Map(points.map((point) => [point.series, point])).values()];
  const ticks = [...new Set(points.map((point) => Number(point.x)))];
  const options: Plot.PlotOptions = {
    width: WIDTH,
    height: 360,
    marginLeft: 60,
    marginRight: 210,
    marginTop: 30,
    marginBottom: 40,
    x: { type: 'log', axis: null },
    y: {
      type: scale,
      label: y,
      grid: true,
      ...(scale === 'linear' && { zero: true }),
      tickFormat: shortened,
      ticks: 6,
    },
    marks: [
      // Plot's default axis would show only the ticks that are powers of ten.
      Plot.axisX(ticks, { text: shortened, label: x ?? null, labelAnchor: 'center' }),
      Plot.ruleX(points, { x: 'x', y1: 'least', y2: 'most', stroke: 'colour', strokeOpacity: 0.5, strokeWidth: 4 }),
      Plot.line(points, { x: 'x', y: 'y', z: 'series', stroke: 'colour', strokeWidth: 2.5 }),
      Plot.dot(points, { x: 'x', y: 'y', fill: 'colour', r: 3 }),
    ],
  };
  const toPixels = plot(options).scale('y')?.apply;
  // The name of a series stands at the end of its line. Names that would overlap are moved apart.
  let belowPx = Number.NEGATIVE_INFINITY;
  const labels = lasts
    .map((last) => ({ ...last, px: Number(toPixels?.(last.y)) }))
    .sort((a, b) => a.px - b.px)
    .map((last) => {
      const atPx = Math.max(last.px, belowPx + LINE_HEIGHT);
      belowPx = atPx;
      return Plot.text([last], {
        x: 'x',
        y: 'y',
        text: 'series',
        fill: 'colour',
        dx: 10,
        dy: atPx - last.px,
        textAnchor: 'start',
      });
    });
  return print(title, { ...options, marks: [...(options.marks ?? []), ...labels] });
}

function shortened(value: number): string {
  return Intl.NumberFormat('en', { notation: 'compact' }).format(value);
}

function plot(options: Plot.PlotOptions) {
  const { document } = parseHTML('<html><body></body></html>');
  return Plot.plot({ ...options, document, style: { fontSize: '12px' } });
}

function print(title: string, options: Plot.PlotOptions): string {
  const svg = plot({ ...options, ariaLabel: title });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${svg.outerHTML.replace(/<style>.*?<\/style>/s, STYLE)}\n`;
}
