import { suite } from 'node:test';
import {
  type BrokenServers,
  changingErrors,
  changingField,
  changingRequests,
  testBrokenServers,
  withFields,
} from './support/broken-servers.js';

/** Servers with common mistakes in limits, bans and error codes, each with audits that it must fail. */
const BROKEN: BrokenServers = {
  'sends a Retry-After that is too short unless a second of the clock begins': [
    ['8-retry-after'],
    changingField('Retry-After', (seconds, { service }) =>
      service.clock.nowMs() % 1_000 === 0 ? seconds : `${Math.max(1, Number(seconds) - 1)}`,
    ),
  ],
  'sends Retry-After: 0': [['8-429'], changingField('Retry-After', () => '0')],
  'changes X-RateLimit-Reset with every request': [
    ['8-reset', '5-ban'],
    changingField('X-RateLimit-Reset', (_, { service }) => `${Math.ceil(service.clock.nowMs() / 1_000) + 60}`),
  ],
  'does not count HEAD requests': [
    ['8-every-request-costs'],
    changingRequests((request, { issueKey }) =>
      request.method === 'HEAD'
        ? withFields(request, (fields) => fields.set('Authorization', `Bearer ${issueKey()}`))
        : request,
    ),
  ],
  'sends Retry-After in milliseconds': [['8-429'], changingField('Retry-After', (seconds) => `${seconds}000`)],
  'announces the end of a ban too early': [
    ['5-ban'],
    changingField('Retry-After', (seconds) => (seconds === '60' ? '59' : seconds)),
  ],
  'never sends a Retry-After below two seconds': [
    ['5-ban', '8-retry-early'],
    changingField('Retry-After', (seconds) => (seconds === '1' ? '2' : seconds)),
  ],
  'rounds a long Retry-After up to tens of seconds': [
    ['8-retry-early'],
    changingField('Retry-After', (seconds) =>
      seconds.length > 1 ? `${Math.ceil(Number(seconds) / 10) * 10}` : seconds,
    ),
  ],
  'sells another quota than that of the plan': [
    ['8-plans'],
    changingField('X-RateLimit-Limit', (limit) => (limit === '300' ? '200' : limit)),
  ],
  'shows the quota of the minute when that of the day is used up': [
    ['8-retry-after'],
    changingField('X-RateLimit-Limit', (limit) => (limit === '5' ? '2' : limit)),
  ],
  'shows more remaining requests than its limit': [['8-headers'], changingField('X-RateLimit-Remaining', () => '1001')],
  'updates X-RateLimit-Remaining with every second request only': [
    ['8-429', '8-every-request-costs', '8-reset'],
    changingField('X-RateLimit-Remaining', (left) => `${Number(left) - (Number(left) % 2)}`),
  ],
  'shows a remaining request when it refuses': [
    ['8-429', '5-ban'],
    changingField('X-RateLimit-Remaining', (left, { response }) => (response.status === 429 ? '1' : left)),
  ],
  'shows another X-RateLimit-Reset when it refuses': [
    ['8-reset'],
    changingField('X-RateLimit-Reset', (reset, { response }) => (response.status === 429 ? `${reset}0` : reset)),
  ],
  'never changes X-RateLimit-Reset': [['8-reset'], changingField('X-RateLimit-Reset', () => '2000000000')],
  'charges one key for the requests of all': [
    ['8-apart'],
    changingRequests((request, { apiKey }) =>
      withFields(request, (fields) => {
        const value = fields.get('Authorization') ?? '';
        fields.set('Authorization', value.replace(/test-\d+-key/, apiKey));
      }),
    ),
  ],
  'charges a key for requests with an invalid key': [
    ['8-apart'],
    changingRequests((request) =>
      // The key that an audit gets first.
      withFields(request, (fields) => {
        if (fields.get('Authorization') === 'Bearer nobody') fields.set('Authorization', 'Bearer test-2-key');
      }),
    ),
  ],
  'bans all keys together': [
    ['5-ban'],
    (fetch, { clock }) => {
      let endMs = 0;
      return async (request) => {
        const response = await fetch(request);
        if (response.headers.get('Retry-After') === '60') endMs = clock.nowMs() + 60_000;
        return response.ok && clock.nowMs() < endMs ? new Response('', { status: 429 }) : response;
      };
    },
  ],
  'uses another code for 429': [
    ['7-codes'],
    changingErrors((error) => ({ ...error, code: error.code.replace('rate_limit_exceeded', 'too_many_requests') })),
  ],
  'uses one code for every 401': [
    ['7-codes'],
    changingErrors((error) => ({ ...error, code: error.code.replace('missing', 'invalid') })),
  ],
};

suite('the audits of limits', () => testBrokenServers(BROKEN));
