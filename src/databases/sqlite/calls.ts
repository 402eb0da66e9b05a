/** A call of a method of one of the objects `Parts` of a worker. Its answer has the same `id`. */
export interface Call<Parts> {
  readonly id: number;
  readonly part: keyof Parts;
  readonly method: keyof Parts[keyof Parts];
  readonly parameters: readonly never[];
}

/** Objects of which each property is a method. */
export type Methods<Parts> = {
  readonly [Part in keyof Parts]: { readonly [Method in keyof Parts[Part]]: (...parameters: never[]) => unknown };
};

/**
 * The objects that a worker runs, as other threads call them. If a method returns a generator, each
 * item is generated when it is requested.
 */
export type Remote<Parts> = {
  readonly [Part in keyof Parts]: {
    readonly [Method in keyof Parts[Part]]: Parts[Part][Method] extends (...parameters: infer Taken) => infer Result
      ? (...parameters: Taken) => Promise<Result extends Generator<infer Item> ? AsyncGenerator<Item> : Awaited<Result>>
      : never;
  };
};

/** Creates objects that pass each call of a method to `ask`. */
export function createRemote<Parts>(ask: (call: Omit<Call<Parts>, 'id'>) => Promise<unknown>): Remote<Parts> {
  const asking = (name: Pick<Call<Parts>, 'part' | 'method'>) => {
    return (...parameters: never[]) => ask({ ...name, parameters });
  };
  return proxyOf((part: keyof Parts) => proxyOf((method: keyof Parts[keyof Parts]) => asking({ part, method })));
}

/** Calls the method that the call names. */
export function invoke<Parts extends Methods<Parts>>(parts: Parts, { part, method, parameters }: Call<Parts>): unknown {
  return parts[part][method](...parameters);
}

/** Creates an object whose properties `get` computes from their names. */
function proxyOf<T extends object, Name>(get: (name: Name) => unknown): T {
  const target: T = Object.create(null);
  return new Proxy(target, { get: (_, name: Name & string) => get(name) });
}
