import type { Reply } from '../reply.js';
import { type Coding, preferredCoding } from './accept-encoding.js';
import { compress, LEAST_COMPRESSED } from './compression.js';
import { entityTag, namesTag } from './entity-tag.js';
import { type PrintFailure, type SharedPrint, sharePrint } from './replayable-bytes.js';
import { fieldOf, type ListRequest } from './request-fields.js';

/** The list as one client is sent it, but for the fields that any reply has. */
export interface ListAnswer {
  readonly status: 200 | 304;
  readonly fields: readonly string[];
  readonly body: Reply['body'];
  /** Of a body that is not whole yet: when it is, or why it will not be. Never rejects. */
  readonly ended?: Promise<PrintFailure | undefined>;
}

/** The answers that there are of one list that will never change. */
export interface ListAnswers {
  answer(request: ListRequest): ListAnswer | Promise<ListAnswer>;
  /** There is a newer list. */
  abandon(): void;
}

/**
 * Makes them of its print. A list is compressed when the first client wants it so, who reads along; who asks for HEAD, or
 * has a tag, waits until there is a tag or a length to tell.
 */
export function createListAnswers(print: SharedPrint): ListAnswers {
  const compressed = new Map<Coding, SharedPrint>();
  const finished = new Map<Coding, ListAnswer>();
  const isText = typeof print.whole()?.body === 'string';

  function answer(request: ListRequest): ListAnswer | Promise<ListAnswer> {
    const ifNoneMatch = fieldOf(request, 'if-none-match');
    const whole = print.whole();
    if (whole === undefined && (ifNoneMatch !== undefined || request.method === 'HEAD')) {
      return wholeOf(print).then(() => answer(request));
    }
    const isTooSmall = whole !== undefined && whole.length < LEAST_COMPRESSED;
    const coding = isTooSmall ? 'identity' : preferredCoding(fieldOf(request, 'accept-encoding'));
    if (ifNoneMatch !== undefined && whole !== undefined && namesTag(ifNoneMatch, entityTag(whole.digest, coding))) {
      return { status: 304, fields: validators(coding), body: undefined };
    }
    return finished.get(coding) ?? representation(coding, request.method === 'HEAD' || isText);
  }

  function representation(coding: Coding, mustBeWhole: boolean): ListAnswer | Promise<ListAnswer> {
    const bytes = coding === 'identity' ? print : (compressed.get(coding) ?? start(coding));
    const whole = bytes.whole();
    if (whole === undefined) {
      // Taken before anything is waited for: what has a reader is produced to its end.
      const body = bytes.read();
      if (mustBeWhole) return wholeOf(bytes).then(() => representation(coding, false));
      return bytes.started().then(() => ({ status: 200, fields: fieldsOf(coding, bytes), body, ended: bytes.ended }));
    }
    const answered = { status: 200, fields: fieldsOf(coding, bytes), body: whole.body } as const;
    finished.set(coding, answered);
    return answered;
  }

  function start(coding: Exclude<Coding, 'identity'>): SharedPrint {
    const bytes = sharePrint(compress(print.read(), coding));
    compressed.set(coding, bytes);
    // The next request tries again.
    bytes.ended.then((failure) => failure !== undefined && compressed.delete(coding));
    return bytes;
  }

  function fieldsOf(coding: Coding, bytes: SharedPrint): string[] {
    const fields = ['Content-Type', 'application/json'];
    if (coding !== 'identity') fields.push('Content-Encoding', coding);
    fields.push(...validators(coding));
    const length = bytes.whole()?.length;
    if (length !== undefined) fields.push('Content-Length', `${length}`);
    return fields;
  }

  /** What a 304 has too (RFC 9110 §15.4.5). */
  function validators(coding: Coding): string[] {
    const whole = print.whole();
    const fields: string[] = [];
    if (whole !== undefined) fields.push('ETag', entityTag(whole.digest, coding));
    if (whole === undefined || whole.length >= LEAST_COMPRESSED) fields.push('Vary', 'Accept-Encoding');
    return fields;
  }

  return {
    answer,
    abandon() {
      for (const bytes of compressed.values()) bytes.abandon();
    },
  };
}

async function wholeOf(print: SharedPrint): Promise<void> {
  const failure = await print.ended;
  if (failure !== undefined) throw failure.error;
}
