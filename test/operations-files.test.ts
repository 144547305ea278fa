/** Rules, dashboard, manifests and runbook against the program: what they name has to be there. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { VARIABLES } from '../src/config/variables.ts';
import { EXIT } from '../src/cli/run-results.ts';
import { createMetrics } from '../src/operate/status/metrics.ts';
import { folderForTest } from './support/lifetime.ts';
import { statusOf } from './support/status-facts.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const rules = read('docs/operations/prometheus-rules.yml');
const dashboard = read('docs/operations/grafana-dashboard.json');
const runbook = read('docs/operations.md');

async function renderMetrics(): Promise<string> {
  const metrics = createMetrics(['default']);
  const text = await metrics.render(statusOf());
  metrics.close();
  return text;
}

async function exportedNames(): Promise<Set<string>> {
  const text = await renderMetrics();
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    families.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

const namedIn = (text: string): string[] => [
  ...new Set(text.match(/\b(?:safety_sync|process|nodejs)_[a-z_]+\b/g)),
];

it.each([
  ['the rules', rules],
  ['the dashboard', dashboard],
])('every metric in %s exists', async (_, text) => {
  const exported = await exportedNames();
  expect(namedIn(text).length).toBeGreaterThan(5);
  expect(namedIn(text).filter((name) => !exported.has(name))).toEqual([]);
});

it('the runbook has a section for every alert, and every alert names its section', () => {
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '');
  const places = [...rules.matchAll(/runbook: docs\/operations\.md#(\w+)/g)].map((match) => match[1]);
  expect([...runbook.matchAll(/^#### (SafetySync\w+)$/gm)].map((match) => match[1])).toEqual(alerts);
  expect(places).toEqual(alerts.map((alert) => alert.toLowerCase()));
});

describe('manifests', () => {
  it.each([
    'docs/operations/kubernetes.yml',
    'docs/operations/compose.accounts.yml',
    'docs/operations/compose.alerts.yml',
    'docs/operations/safety-sync.service',
    'docs/operations.md',
    'docker-compose.yml',
    'Dockerfile',
  ])('%s sets only variables that exist', (path) => {
    if (path.endsWith('.yml'))
      expect(parseAllDocuments(read(path)).flatMap(({ errors }) => errors)).toEqual([]);
    const named = [
      ...read(path).matchAll(
        /\b((?:SAFETY|SYNC|API|HTTP|RETRY|LOG|FRESHNESS|DATABASE|ALERT|SMTP|REPORT)_[A-Z_]+)\b/g,
      ),
    ]
      .map((match) => match[1] ?? '')
      .map((name) => (name in VARIABLES ? name : name.replace(/_FILE$/, '')))
      .filter((name) => !['SAFETY_SYNC_CONTAINER', 'SAFETY_SYNC_IMAGE'].includes(name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });

  it('the systemd unit does not restart a worker after a wrong configuration', () => {
    expect(read('docs/operations/safety-sync.service')).toContain(
      `\nRestartPreventExitStatus=${EXIT.usage}\n`,
    );
  });
});

/** The health check of the Dockerfile, as if process 1 had these arguments; nothing serves HTTP on its port. */
async function checkHealth(...args: readonly string[]): Promise<number | null> {
  const cmdline = join(await folderForTest('safety-sync-health-'), 'cmdline');
  writeFileSync(cmdline, `${args.join('\0')}\0`);
  const command = /HEALTHCHECK[^]*?CMD (\[.*\])/.exec(read('Dockerfile'))?.[1] ?? '[]';
  const [, ...rest] = JSON.parse(command.replace('/proc/1/cmdline', cmdline)) as string[];
  return spawnSync(process.execPath, rest, { env: { HTTP_PORT: '1' } }).status;
}

it('the image is unhealthy if its worker does not respond, but not because another verb serves no /healthz', async () => {
  expect(await checkHealth('node', '/app/dist/main.js', 'start')).toBe(1);
  expect(await checkHealth('/sbin/docker-init', '--', 'node', '/app/dist/main.js', 'start')).toBe(1);
  expect(await checkHealth('node', '/app/dist/main.js', 'sandbox', '--host', '0.0.0.0')).toBe(0);
});
