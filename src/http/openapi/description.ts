import { planTable } from '../../limits/plan-table.js';
import { COMMON_HEADERS, headers } from './schemas.js';

function createPlanTable(): string {
  const { windows, rows } = planTable();
  return [
    ['Plan', ...windows.map((window) => `Requests per ${window}`)],
    ['---', ...windows.map(() => '---:')],
    ...rows,
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

const LIMIT_FIELDS = COMMON_HEADERS.filter((name) => name !== 'X-Request-Id')
  .map((name) => `${name}: ${headers[name].example}`)
  .join('\n');

/**
 * The description of the service, in Markdown. The documentation page renders its sections, so they
 * use only paragraphs, tables and code blocks, each with a title after its language.
 */
export const DESCRIPTION = `Lists the orders placed in the store, and cancels an order by its id.

## Authentication

Send an API key as a bearer token with every request. The operator of the service issues keys. A request without a
valid key returns 401 \`missing_api_key\` or \`invalid_api_key\`.

\`\`\`http Request header
Authorization: Bearer $API_KEY
\`\`\`

## Identifiers

\`id\` and \`petId\` are 64-bit integers. Keep every digit: a rounded id names a different order, and cancelling that order
returns 204. In the path, write the id in decimal digits exactly as listed.

| Language | Exact | Rounds above 2^53 |
| --- | --- | --- |
| JavaScript | \`string\`, \`bigint\` | \`JSON.parse\`, \`response.json()\`, generated clients, Swagger UI |
| Python | \`int\`, from \`json\` | \`float\`; pandas if an id is missing |
| Go | \`int64\` in a struct, \`Decoder.UseNumber()\` | \`any\`, \`map[string]any\` |
| Java | \`Long\` fields with Gson | \`Double\`; Gson into a \`Map\` |
| shell | \`sed\` before \`jq\` | \`jq\` 1.6 |

In JavaScript, read the ids as strings. A generated client needs a \`fetch\` that does this to the body of each response:

\`\`\`js Exact ids in JavaScript
JSON.parse(text.replace(/"(id|petId)":\\s*(-?\\d+)/g, '"$1":"$2"'))
\`\`\`

In a shell, quote the ids before \`jq\` reads them:

\`\`\`sh Exact ids in a shell
sed -E 's/"(id|petId)":(-?[0-9]+)/"\\1":"\\2"/g' | jq -r '.[].id'
\`\`\`

## Rate limits

${createPlanTable()}

An allowed request with a valid key counts against every window of its plan, whatever its status. A refused request
counts against none. A window starts with its first request. When it ends, the whole quota is available again. Requests
without a valid key are limited by client address. For higher limits, change the plan. Enterprise limits are agreed
individually.

Every response carries the \`X-RateLimit-*\` headers, which describe the window that will refuse first, and \`RateLimit\`,
which describes all windows.

\`\`\`http Headers of every response
${LIMIT_FIELDS}
\`\`\`

After a 429 or 503, wait the number of seconds in \`Retry-After\`. If the next request is refused too, double the wait each
time. A key that keeps sending without waiting is banned: first for a minute, then longer. A \`DELETE\` can be repeated:
after a lost response, 409 \`order_already_cancelled\` means that the order is cancelled.

\`\`\`js Wait and retry in JavaScript
async function send(url, init, attempt = 0) {
  const response = await fetch(url, init);
  const wait = Number(response.headers.get('Retry-After'));
  const seconds = Math.max(wait, 2 ** attempt);
  const isLast = attempt === 4 || seconds > 300;
  if (![429, 503].includes(response.status) || isLast) {
    return response;
  }
  await new Promise((go) => setTimeout(go, seconds * 1000));
  return send(url, init, attempt + 1);
}
\`\`\`

## Errors

Every error is a JSON object with \`code\`, \`message\` and \`status\`. An unknown path returns 404 \`route_not_found\`. An
unsupported method on a known path returns 405 \`method_not_allowed\` with an \`Allow\` header.

## Versions and stability

The path begins with the version. Each operation has a stability mark in \`x-stability\`: \`stable\`, \`beta\` or
\`experimental\`. An operation that will be removed is marked \`deprecated\`.`;
