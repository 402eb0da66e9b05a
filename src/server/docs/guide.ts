import type { OpenApiDocument } from '../../http/openapi/document.js';
import { planTable } from '../../limits/plan-table.js';
import { propertyText } from './document-parts.js';
import { codeBlock, escapeHtml, prose, row, section, table } from './markup.js';

/** Returns the sections to read before the first request: authentication, ids and rate limits. */
export function renderGuide(document: OpenApiDocument): string {
  return [renderAuthentication(), renderIdentifiers(), renderRateLimits(document)].join('\n');
}

function renderAuthentication(): string {
  return section(
    'authentication',
    'Authentication',
    `<p>Send an API key as a bearer token with every request. A request without a valid key returns <a href="#error-missing_api_key">401</a>.</p>
<p>The operator of the server issues keys. A key is shown once, when it is created. A server that starts with a new database prints a demo key for each plan.</p>
<p>Paste a key into the <a href="#key">API key</a> field to <a href="#try">send requests</a> from this page. The page keeps the key in memory and forgets it on reload.</p>`,
    `${codeBlock('Create a key on the server', 'npx store-orders keys create --plan free')}
${codeBlock('Request header', 'Authorization: Bearer $API_KEY')}`,
  );
}

function renderIdentifiers(): string {
  return section(
    'identifiers',
    'Identifiers',
    `<p><code>id</code> and <code>petId</code> are signed 64-bit integers. A JavaScript number is exact only up to 2<sup>53</sup>. A rounded id names a different order.</p>
<p>In the path, write the id in decimal digits exactly as listed. Other spellings, such as <code>01</code>, <code>+1</code> and <code>1e0</code>, return <a href="#error-invalid_order_id">404</a>.</p>
${table(
  ['Language', 'Exact type', 'Parser'],
  [
    row(
      'JavaScript',
      '<code>string</code>, <code>bigint</code>',
      '<code>JSON.parse</code> rounds large ids. Quote the ids first, as in the samples.',
    ),
    row('Python', '<code>int</code>', '<code>json</code> is exact. pandas may use <code>float</code>.'),
    row('Go', '<code>int64</code>', 'Decode into a struct. <code>any</code> becomes <code>float64</code>.'),
    row('Java', '<code>Long</code>', 'Gson is exact for <code>Long</code> fields, but rounds in a <code>Map</code>.'),
    row('Shell', 'text', '<code>jq</code> 1.6 rounds large ids. Quote the ids with <code>sed</code> first.'),
  ],
)}`,
    codeBlock(
      'Exact ids in JavaScript',
      `JSON.parse('9007199254740993');
// 9007199254740992, a different order

BigInt('9007199254740993');
// 9007199254740993n, exact`,
    ),
  );
}

function renderRateLimits({ components }: OpenApiDocument): string {
  const headers = Object.entries(components.headers).filter(([name]) => /ratelimit|retry-after/i.test(name));
  const { windows, rows } = planTable();
  const headings = ['Plan', ...windows.map((window) => `Requests per ${window}`)];
  const plans = rows.map(([name = '', ...quotas]) => row(name, ...quotas));
  const example = headers
    .filter(([name]) => name !== 'Retry-After')
    .map(([name, header]) => `${name}: ${propertyText(header, 'example')}`);
  return section(
    'rate-limits',
    'Rate limits',
    `<p>A plan has a quota for each window. Every allowed request with a valid key counts against all of them, whatever its status. A request refused by the limits counts against none.</p>
<p>A window starts with its first request. When it ends, the whole quota is available again.</p>
${table(headings, plans)}
<p>After a 429, wait the number of seconds in <code>Retry-After</code>. A request sent after that time is within the limit. A key that keeps sending without waiting is banned: first for a minute, then longer.</p>
<p>Requests without a valid key are limited by client address.</p>`,
    `${codeBlock('Headers of every response', example.join('\n'))}
${codeBlock('Wait and retry in JavaScript', WAIT_AND_RETRY)}`,
    `<dl class="fields wide">
${headers.map(([name, header]) => `<div><dt><code>${name}</code></dt><dd>${prose(propertyText(header, 'description'))}</dd></div>`).join('\n')}
</dl>`,
  );
}

const WAIT_AND_RETRY = `async function send(url, init, attempt = 0) {
  const response = await fetch(url, init);
  const wait = Number(response.headers.get('Retry-After'));
  const seconds = Math.max(wait, 2 ** attempt);
  const isLast = attempt === 4 || seconds > 300;
  if (![429, 503].includes(response.status) || isLast) {
    return response;
  }
  await new Promise((go) => setTimeout(go, seconds * 1000));
  return send(url, init, attempt + 1);
}`;

/** Returns the introduction: the version and the base address. */
export function renderIntroduction({ info }: OpenApiDocument, basePath: string): string {
  return `<section id="introduction" aria-labelledby="introduction-title">
<h1 id="introduction-title">${escapeHtml(info.title)} API</h1>
<p class="lead">${escapeHtml(info.summary)}</p>
<dl class="facts">
<div><dt class="hint">Base address</dt><dd><code data-fill="base">http://127.0.0.1:8080${escapeHtml(basePath)}</code></dd></div>
<div><dt class="hint">Version</dt><dd>${escapeHtml(info.version)}</dd></div>
<div><dt class="hint">Specification</dt><dd><a href="openapi.json">openapi.json</a></dd></div>
</dl>
</section>`;
}
