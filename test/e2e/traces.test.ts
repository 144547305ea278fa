import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { startTraceReceiver } from '../support/trace-receiver.ts';

const CANARY = 'canary-token-8c2e';

const fixture = forEachTest(() => createCliFixture());
const receiver = forEachTest(() => startTraceReceiver());

beforeEach(() => {
  fixture.sandbox.access.set('active', CANARY);
});

const sync = (env: Record<string, string>, ...args: string[]) =>
  fixture.cli.run(['sync', ...args], { ...fixture.env, SAFETY_TOKEN: CANARY, ...env });

it('traces contain runs, requests, stored rows and failures, without the token', async () => {
  fixture.sandbox.faults.next(({ method }) => method === 'resources.list', { kind: 'serverError' });
  fixture.sandbox.faults.next(({ method }) => method === 'training-employee-status.list', {
    kind: 'error',
    error: 'parameter_unexpected',
  });
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    OTEL_SERVICE_NAME: 'warehouse',
  };
  const { code } = await sync(env, 'resources', 'training-employee-status');
  expect(code).toBe(1);
  const { spans } = receiver;
  const runs = await fixture.query<{ stream: string; id: number }>(
    'select stream, run_id::int as id from safety_sync.runs',
  );
  const runOf = (name: string) => runs.find(({ stream }) => stream === name)?.id;
  const run = spans.find(({ name }) => name === 'run resources');
  expect(run).toMatchObject({
    parentSpanId: undefined,
    status: 0,
    attributes: {
      'safety_sync.account': 'default',
      'safety_sync.stream': 'resources',
      'safety_sync.outcome': 'succeeded',
      'safety_sync.run_id': runOf('resources'),
      'safety_sync.requests': 2,
      'safety_sync.retries': 1,
    },
  });
  const ofRun = (name: string) =>
    spans.filter((span) => span.name === name && span.parentSpanId === run?.spanId);
  expect(ofRun('request resources.list').map(({ attributes, status }) => [attributes, status])).toEqual([
    [{ 'rpc.method': 'resources.list', 'safety_sync.attempt': 1, 'error.type': 'server_error' }, 2],
    [expect.objectContaining({ 'safety_sync.attempt': 2, 'safety_sync.status': 'ok' }), 0],
  ]);
  expect(spans.find(({ name }) => name === 'run training-employee-status')).toMatchObject({
    status: 2,
    attributes: { 'error.type': 'parameter_unexpected', 'safety_sync.outcome': 'failed' },
  });
  expect(spans.map(({ name }) => name).toSorted()).toEqual([
    'request account.info',
    'request resources.list',
    'request resources.list',
    'request training-employee-status.list',
    'run resources',
    'run training-employee-status',
    'store',
  ]);
  const sent = receiver.bodies.join('');
  expect(sent).toContain('warehouse');
  expect(sent).not.toContain(CANARY);
});

/** Blocks the module with the SDK's packages: a program that loads it fails. */
async function refusing(env: Record<string, string>) {
  const hook = join(fixture.cli.directory, 'refuse.mjs');
  await writeFile(
    hook,
    `import { register } from 'node:module';
       register('data:text/javascript,' + encodeURIComponent(\`
         export async function resolve(specifier, context, next) {
           const found = await next(specifier, context);
           if (/[/]trace-sdk-/.test(found.url)) throw new Error('loaded ' + specifier);
           return found;
         }\`));`,
  );
  return await sync({ NODE_OPTIONS: `--import=${hook}`, ...env }, 'resources');
}

it('no package of the trace SDK is loaded unless a variable asks for traces', async () => {
  const off = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' };
  for (const env of [{}, off]) {
    const { code, stderr } = await refusing(env);
    expect(stderr).not.toContain('loaded ');
    expect(code).toBe(0);
  }
});
