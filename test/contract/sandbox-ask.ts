import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { NOON } from '../support/test-clock.ts';

export { NOON };

const small = { followups: 240, employees: 40, equipment: 48, resources: 20, users: 12 };

/** A sandbox of a size that tests can look through, at the time `clock.now`, which only they move. The caller closes it. */
export async function createSmallSandbox(options: SandboxOptions = {}) {
  const clock = { now: NOON };
  const size = { ...small, ...options.size };
  return { ...(await createSandbox({ clock: () => clock.now, ...options, size })), clock };
}

/** Such a sandbox for one test. */
export const createTestSandbox = async (options: SandboxOptions = {}) =>
  untilTestEnds(await createSmallSandbox(options));

export async function send(sandbox: Sandbox, path: string, init: RequestInit) {
  const response = await fetch(`${sandbox.url}${path}`, init);
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, text, body: JSON.parse(text) as Record<string, unknown> };
}

/** POST; a request object with the sandbox's token, unless it has one. */
export const ask = (sandbox: Sandbox, method: string, parameters: object = {}) =>
  send(sandbox, `/v1/${method}`, {
    method: 'POST',
    body: JSON.stringify({ token: sandbox.token, ...parameters }),
  });

/** The records of a successful response. */
export async function askList<T = Record<string, unknown>>(
  sandbox: Sandbox,
  method: string,
  parameters: object = {},
): Promise<T[]> {
  const { body } = await ask(sandbox, method, parameters);
  if (body['ok'] !== true) throw new Error(`${method} answered ${JSON.stringify(body)}`);
  return Object.entries(body).find(([name, value]) => name !== 'columns' && Array.isArray(value))?.[1] as T[];
}

export async function errorOf(sandbox: Sandbox, method: string, parameters: object = {}): Promise<unknown> {
  return (await ask(sandbox, method, parameters)).body['error'];
}
