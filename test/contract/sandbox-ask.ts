import { expect, test } from 'vitest';
import {
  createSandbox,
  type Employee,
  type Equipment,
  type Followup,
  type Resource,
  type Sandbox,
  type SandboxOptions,
} from '../../src/sandbox/index.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { NOON } from '../support/test-clock.ts';

export { NOON };

interface Answered {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown>;
}

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

/** Tests that each of these parameters refuses these values. `base`: parameters that the method needs. */
export function testRefusals(
  given: () => Sandbox,
  method: string,
  refused: Record<string, unknown[]>,
  base: object = {},
): void {
  test.each(Object.entries(refused))(
    'the parameter %s is refused with parameter_invalid for values that its type does not allow',
    async (parameter, values) => {
      for (const value of values) {
        const error = await errorOf(given(), method, { ...base, [parameter]: value });
        expect([value, error]).toEqual([value, 'parameter_invalid']);
      }
    },
  );
}

export async function post(sandbox: Sandbox, method: string, request: unknown): Promise<Answered> {
  return answered(
    await fetch(`${sandbox.url}/v1/${method}`, {
      method: 'POST',
      body: typeof request === 'string' ? request : JSON.stringify(request),
    }),
  );
}

export async function get(sandbox: Sandbox, method: string, request: unknown): Promise<Answered> {
  const query = typeof request === 'string' ? request : encodeURIComponent(JSON.stringify(request));
  return answered(await fetch(`${sandbox.url}/v1/${method}?${query}`));
}

/** POST with the sandbox's token. */
export async function ask(sandbox: Sandbox, method: string, parameters: object = {}): Promise<Answered> {
  return post(sandbox, method, { token: sandbox.token, ...parameters });
}

interface Records {
  'resources.list': Resource;
  'followups.list': Followup;
  'training-employee-status.list': Employee;
  'equipments.list': Equipment;
}
const LISTS: Readonly<Record<keyof Records, string>> = {
  'resources.list': 'resources',
  'followups.list': 'followups',
  'training-employee-status.list': 'employees',
  'equipments.list': 'equipments',
};

/** The records of a successful response. */
export async function askList<Method extends keyof Records>(
  sandbox: Sandbox,
  method: Method,
  parameters: object = {},
): Promise<Records[Method][]> {
  const { body } = await ask(sandbox, method, parameters);
  if (body['ok'] !== true) throw new Error(`${method} answered ${JSON.stringify(body)}`);
  return body[LISTS[method]] as Records[Method][];
}

export async function errorOf(sandbox: Sandbox, method: string, parameters: object = {}): Promise<unknown> {
  return (await ask(sandbox, method, parameters)).body['error'];
}

export async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: JSON.parse(text) as Record<string, unknown>,
  };
}
