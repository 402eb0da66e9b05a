import { suite } from 'node:test';
import {
  type BrokenServers,
  changingField,
  changingRequests,
  changingResponses,
  testBrokenServers,
  withFields,
} from './support/broken-servers.js';

/** Servers with common mistakes in authentication, each with audits that it must fail. */
const BROKEN: BrokenServers = {
  'challenges a client without a key as if its key was invalid': [
    ['5-challenge'],
    changingField('WWW-Authenticate', () => 'Bearer error="invalid_token"'),
  ],
  'does not say in the challenge that the key is invalid': [
    ['5-challenge'],
    changingField('WWW-Authenticate', () => 'Bearer'),
  ],
  'repeats the API key in its errors': [
    ['5-invalid'],
    changingResponses(({ request, response }) => {
      const error = { code: 'invalid', message: `no: ${request.headers.get('Authorization')}`, status: 401 };
      return response.status === 401 ? Response.json(error, response) : response;
    }),
  ],
  'accepts the scheme Bearer in one spelling only': [
    ['5-scheme'],
    changingRequests((request) =>
      withFields(request, (fields) => {
        if (!fields.get('Authorization')?.startsWith('Bearer ')) fields.delete('Authorization');
      }),
    ),
  ],
  'accepts a request with two API keys': [
    ['5-two'],
    changingRequests((request) =>
      withFields(request, (fields) => fields.set('Authorization', fields.get('Authorization')?.split(', ')[0] ?? '')),
    ),
  ],
};

suite('the audits of authentication', () => testBrokenServers(BROKEN));
