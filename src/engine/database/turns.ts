/**
 * Orders the statements of a session. postgres.js would send a statement between the rows of a COPY, which ends the
 * session. So statements that are called during a COPY are sent after it, in the order of their calls.
 */
interface Turns {
  /** A COPY is active. */
  isCopying: boolean;
  /** Sends the statement at once, or after the COPY. */
  take<T>(send: () => Promise<T>): Promise<T>;
  /** The COPY has ended. */
  end(): void;
}

export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  const turns: Turns = {
    isCopying: false,
    take: async (send) =>
      turns.isCopying || waiting.length > 0
        ? await new Promise((resolve) => waiting.push(() => resolve(send())))
        : await send(),
    end() {
      turns.isCopying = false;
      sendWaiting();
    },
  };
  /** A COPY that begins among them ends this. */
  function sendWaiting(): void {
    const next = turns.isCopying ? undefined : waiting.shift();
    if (next === undefined) return;
    next();
    sendWaiting();
  }
  return turns;
}

interface Sender<Sent extends unknown[]> {
  unsafe(...statement: Sent): PromiseLike<unknown> & { values(): PromiseLike<unknown> };
}

/** The client with statements that take turns, for drizzle, which only awaits `unsafe`, or its `values`. */
export function inTurns<Sent extends unknown[], Client extends Sender<Sent>>(
  client: Client,
  turns: Turns,
): Client {
  return new Proxy(client, {
    get(target, property, receiver): unknown {
      if (property !== 'unsafe') return Reflect.get(target, property, receiver);
      return (...statement: Sent) => {
        const send = (isRaw: boolean): Promise<unknown> =>
          turns.take(async () =>
            isRaw ? await client.unsafe(...statement).values() : await client.unsafe(...statement),
          );
        return {
          values: () => send(true),
          then: (...done: Parameters<Promise<unknown>['then']>) => send(false).then(...done),
        };
      };
    },
  });
}
