/** Tokens and passwords that are replaced in their files while the program runs. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRequestMeter } from '../../src/engine/api/requests.ts';
import { clientFor } from '../support/api-client.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { folderForTest, forEachTest } from '../support/lifetime.ts';

const NEW_TOKEN = 'new-token-7f31c2';

const fixture = forEachTest(() => createCliFixture());
function replaceAtService(): void {
  fixture.sandbox.access.revoke();
  fixture.sandbox.access.set('active', NEW_TOKEN);
}

function createClient(kept: { token: string }) {
  const api = clientFor(fixture.sandbox, { readToken: () => kept.token });
  const meter = createRequestMeter();
  const ask = () => api.page({ method: 'resources.list', listKey: 'resources', params: {}, meter });
  return { api, ask };
}

const outcomes = () => fixture.sandbox.requests.map(({ outcome }) => outcome);

test('if the service refuses the token, requests are repeated at once with the token that replaced it in its file', async () => {
  const kept = { token: fixture.sandbox.token };
  const { api, ask } = createClient(kept);
  await ask();
  kept.token = NEW_TOKEN;
  replaceAtService();
  await Promise.all([ask(), ask(), ask()]);
  await ask();
  expect(outcomes().filter((outcome) => outcome === 'ok')).toHaveLength(5);
  expect(outcomes().slice(-1)).toEqual(['ok']);
  await api.close();
});

test('a request with a refused token fails at once if its file is unchanged; after a replacement only the new token is sent', async () => {
  const kept = { token: fixture.sandbox.token };
  const { api, ask } = createClient(kept);
  replaceAtService();
  await expect(ask()).rejects.toMatchObject({ code: 'token_invalid' });
  expect([outcomes(), api.hasNewToken]).toEqual([['token_invalid'], false]);
  kept.token = NEW_TOKEN;
  expect(api.hasNewToken).toBe(true);
  await ask();
  expect(outcomes()).toEqual(['token_invalid', 'ok']);
  await api.close();
});

test('a worker continues as soon as the token is replaced in its file, without waiting for its next try', async () => {
  const path = join(await folderForTest('safety-sync-secrets-'), 'token');
  await writeFile(path, fixture.sandbox.token);
  const env = { ...fixture.env, SAFETY_TOKEN: '' };
  const worker = fixture.start(['start'], { ...env, SAFETY_TOKEN_FILE: path, SYNC_CRON: '* * * * * *' });
  await worker.untilStderr(/resources: succeeded/);
  replaceAtService();
  await worker.untilStderr(/THE SERVICE REFUSES THE CREDENTIALS/);
  await writeFile(path, `${NEW_TOKEN}\n`);
  await worker.untilStderr(/the token was replaced in its file[^]*: succeeded/);
  expect(worker.stderr).not.toContain(NEW_TOKEN);
  worker.kill('SIGTERM');
  await worker.finished;
});
