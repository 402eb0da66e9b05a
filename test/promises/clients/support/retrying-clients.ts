import axios from 'axios';
import axiosRetry from 'axios-retry';
import got from 'got';
import ky from 'ky';
import { Agent, RetryAgent, request } from 'undici';
import { createOrdersClient } from '../../../../examples/exact-client.js';

const headers = { Authorization: 'Bearer any' };

interface Client {
  /** Sends a request until it succeeds. Resolves to the status. */
  readonly send: (method: 'GET' | 'DELETE', url: string) => Promise<number>;
  readonly close?: () => Promise<void>;
}

/** Clients as their READMEs show them, without any settings. */
export const CLIENTS: Readonly<Record<string, () => Client>> = {
  "undici's RetryAgent"() {
    const dispatcher = new RetryAgent(new Agent());
    return {
      async send(method, url) {
        const { statusCode, body } = await request(url, { method, headers, dispatcher });
        await body.dump();
        return statusCode;
      },
      close: () => dispatcher.destroy(null),
    };
  },
  got: () => ({ send: async (method, url) => (await got(url, { method, headers })).statusCode }),
  ky: () => ({ send: async (method, url) => (await ky(url, { method, headers })).status }),
  'the client of examples/exact-client.ts': () => ({
    async send(method, url) {
      const [base = '', id = ''] = url.split(/\/store\/orders\/?/);
      const client = createOrdersClient({ url: base, apiKey: 'any' });
      if (method === 'GET') return (await client.list()).length === 10 ? 200 : 500;
      return (await client.cancel(BigInt(id))) === 'cancelled' ? 204 : 409;
    },
  }),
  'axios-retry'() {
    const client = axios.create({ headers });
    axiosRetry(client);
    return { send: async (method, url) => (await client.request({ method, url })).status };
  },
};
