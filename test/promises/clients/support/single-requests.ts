import axios from 'axios';
import got from 'got';
import ky from 'ky';

/** Sends one request, without retries. */
type Send = (method: 'GET' | 'DELETE', url: string, headers: Record<string, string>) => Promise<[number, string]>;

export const CLIENTS: Readonly<Record<string, Send>> = {
  async fetch(method, url, headers) {
    const response = await fetch(url, { method, headers });
    return [response.status, await response.text()];
  },
  async axios(method, url, headers) {
    const options = { method, url, headers, transformResponse: (text: string) => text, validateStatus: () => true };
    const { status, data } = await axios.request<string>(options);
    return [status, data];
  },
  async got(method, url, headers) {
    const { statusCode, body } = await got(url, { method, headers, retry: { limit: 0 }, throwHttpErrors: false });
    return [statusCode, body];
  },
  async ky(method, url, headers) {
    const response = await ky(url, { method, headers, retry: 0, throwHttpErrors: false });
    return [response.status, await response.text()];
  },
};
