import axios from 'axios';
import axiosRetry from 'axios-retry';
import got from 'got';
import ky from 'ky';
import { Agent, RetryAgent, request } from 'undici';
import { createOrdersClient } from '../../../examples/exact-client.js';

const HEADERS = { Authorization: 'Bearer any' };

interface Client {
  readonly get: (url: string) => Promise<number>;
  readonly delete: (url: string) => Promise<number>;
  readonly close?: () => Promise<void>;
}

/** Clients as their READMEs show them, without any settings. */
export const CLIENTS: Readonly<Record<string, () => Client>> = {
  "undici's RetryAgent"() {
    const dispatcher = new RetryAgent(new Agent());
    const send = async (method: 'GET' | 'DELETE', url: string) => {
      const { statusCode, body } = await request(url, { method, headers: HEADERS, dispatcher });
      await body.dump();
      return statusCode;
    };
    return {
      get: (url) => send('GET', url),
      delete: (url) => send('DELETE', url),
      close: () => dispatcher.destroy(null),
    };
  },
  got: () => ({
    get: async (url) => (await got.get(url, { headers: HEADERS })).statusCode,
    delete: async (url) => (await got.delete(url, { headers: HEADERS })).statusCode,
  }),
  ky: () => ({
    get: async (url) => (await ky.get(url, { headers: HEADERS })).status,
    delete: async (url) => (await ky.delete(url, { headers: HEADERS })).status,
  }),
  'the client of examples/exact-client.ts'() {
    const clientOf = (url: string) => createOrdersClient({ url: url.replace(/\/store.*/, ''), apiKey: 'any' });
    return {
      get: async (url) => ((await clientOf(url).list()).length === 10 ? 200 : 500),
      delete: async (url) => {
        const id = BigInt(url.replace(/.*\//, ''));
        return (await clientOf(url).cancel(id)) === 'cancelled' ? 204 : 409;
      },
    };
  },
  'axios-retry'() {
    const client = axios.create({ headers: HEADERS });
    axiosRetry(client);
    return {
      get: async (url) => (await client.get(url)).status,
      delete: async (url) => (await client.delete(url)).status,
    };
  },
};
