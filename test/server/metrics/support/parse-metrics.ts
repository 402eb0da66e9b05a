import assert from 'node:assert/strict';

/** The name of a metric with its labels, as in the parsed text. */
export type Series = string;

/** Parses the text format of Prometheus, version 0.0.4. Fails if the text is not valid. */
export function parseMetrics(text: string): ReadonlyMap<Series, number> {
  assert.ok(text.endsWith('\n'));
  const samples = new Map<Series, number>();
  const names = new Set<string>();
  let [name, type] = ['', ''];
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const [, keyword, about = '', rest = ''] = /^# (HELP|TYPE) ([a-z_0-9]+) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      assert.ok(!names.has(about), `${about} must occur once`);
      names.add(about);
      name = about;
      continue;
    }
    if (keyword === 'TYPE') {
      assert.equal(about, name);
      assert.match(rest, /^(?:counter|gauge|histogram)$/);
      type = rest;
      if (name.startsWith('store_orders_')) assert.equal(name.endsWith('_total'), type === 'counter', name);
      continue;
    }
    const label = '[a-z]+="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
    const sample = new RegExp(`^(${name}(_bucket|_sum|_count)?(?:\\{${label}(?:,${label})*\\})?) (\\S+)$`).exec(line);
    const [, series = assert.fail(`invalid line: ${line}`), suffix, value] = sample ?? [];
    assert.equal(suffix !== undefined, type === 'histogram', line);
    assert.ok(!samples.has(series), `${series} must occur once`);
    assert.ok(Number.isFinite(Number(value)) || value === 'Nan', line);
    samples.set(series, Number(value));
  }
  checkBuckets(samples);
  return samples;
}

/**
 * Checks that no bucket of a histogram counts less than the one before it, and that the last bucket
 * counts everything.
 */
function checkBuckets(samples: ReadonlyMap<Series, number>): void {
  let last = 0;
  for (const [series, value] of samples) {
    const bucket = /^(\w+)_bucket\{(.*?),?le="([^"]+)"\}$/.exec(series);
    if (bucket === null) continue;
    const [, name, labels, bound] = bucket;
    assert.ok(value >= last, series);
    last = bound === '+Inf' ? 0 : value;
    if (bound === '+Inf')
      assert.equal(value, samples.get(`${name}_count${labels === '' ? '' : `{${labels}}`}`), series);
  }
}
