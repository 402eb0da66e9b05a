import { suite } from 'node:test';
import {
  type BrokenServers,
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
  'shows more remaining requests than its limit': [['8-headers'], changingField('X-RateLimit-Remaining', () => '1001')],
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
  'rounds a long Retry-After up to tens of seconds': [
    ['8-retry-early'],
    changingField('Retry-After', (seconds) =>
      seconds.length > 1 ? `${Math.ceil(Number(seconds) / 10) * 10}` : seconds,
    ),
  ],
  'never bans': [
    ['5-ban'],
    changingField('Retry-After', (_, { service }) => `${60 - (Math.floor(service.clock.nowMs() / 1_000) % 60)}`),
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
};

suite('the audits of limits', () => testBrokenServers(BROKEN));
