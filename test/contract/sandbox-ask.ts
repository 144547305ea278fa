import { createSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.ts';
import { NOON, type TestTime } from '../support/test-clock.ts';

export { NOON };

interface Answered {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown>;
}

const small = { followups: 240, employees: 40, equipment: 48, resources: 20, users: 12 };

/** A sandbox of a size that a test can look through, at a time that only the test moves. */
export async function createTestSandbox(
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; clock: TestTime }> {
  const clock = { now: NOON };
  const sandbox = await createSandbox({
    clock: () => clock.now,
    ...options,
    size: { ...small, ...options.size },
  });
  return { sandbox, clock };
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

export async function askList<T>(
  sandbox: Sandbox,
  method: string,
  name: string,
  parameters: object = {},
): Promise<T[]> {
  const { body } = await ask(sandbox, method, parameters);
  if (body['ok'] !== true) throw new Error(`${method} answered ${JSON.stringify(body)}`);
  return body[name] as T[];
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
