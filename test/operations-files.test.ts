/** Rules, dashboard, manifests and runbook against the program: what they name has to be there. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config/load-config.ts';
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

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly secrets?: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly logging?: { readonly driver: string };
      }
    >
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const namedIn = (text: string): string[] => [
  ...new Set(text.match(/\b(?:safety_sync|process|nodejs)_[a-z_]+\b/g)),
];

describe('metrics', () => {
  it.each([
    ['the rules', rules],
    ['the dashboard', dashboard],
  ])('every metric in %s exists', async (_, text) => {
    const exported = await exportedNames();
    expect(namedIn(text).length).toBeGreaterThan(5);
    expect(namedIn(text).filter((name) => !exported.has(name))).toEqual([]);
  });
});

describe('the runbook', () => {
  it('the runbook has a section for every alert, and every alert names its section', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '');
    const places = [...rules.matchAll(/runbook: docs\/operations\.md#(\w+)/g)].map((match) => match[1]);
    expect([...runbook.matchAll(/^#### (SafetySync\w+)$/gm)].map((match) => match[1])).toEqual(alerts);
    expect(places).toEqual(alerts.map((alert) => alert.toLowerCase()));
  });
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

  it('the manifest for several accounts mounts no secret except the list of accounts and the database URL', () => {
    const base = parse(read('docker-compose.yml')) as Compose;
    const overlay = parse(read('docs/operations/compose.accounts.yml')) as Compose;
    // Compose adds the lists of secrets to each other and lets the overlay's definition of a secret win.
    const mounted = [
      ...(base.services['worker']?.secrets ?? []),
      ...(overlay.services['worker']?.secrets ?? []),
    ];
    const files = { ...base.secrets, ...overlay.secrets };
    expect(mounted.map((name) => files[name]?.file)).toEqual([
      './secrets/accounts.yml',
      './secrets/database_url',
    ]);
    expect(overlay.services['worker']?.environment?.['SAFETY_ACCOUNTS_FILE']).toBe(
      `/run/secrets/${mounted[0] ?? ''}`,
    );
  });

  it('the manifest for alerts is a complete configuration for the worker, with a secret for each file', () => {
    const overlay = parse(read('docs/operations/compose.alerts.yml')) as Compose;
    const { secrets = [], environment = {} } = overlay.services['worker'] ?? {};
    expect(secrets).toEqual(Object.keys(overlay.secrets));
    const values: Readonly<Record<string, string>> = {
      ALERT_WEBHOOK_URL_FILE: 'https://hooks.example.com/a',
      SMTP_URL_FILE: 'smtp://me:password@mail.example.com:587',
    };
    const env = Object.entries(environment).map(([name, value]) => {
      if (name.endsWith('_FILE')) expect(secrets).toContain(value.replace('/run/secrets/', ''));
      return [name.replace(/_FILE$/, ''), values[name] ?? value];
    });
    const options = { needsService: false, isTerminal: false };
    const { notifications } = loadConfig(Object.fromEntries(env) as Record<string, string>, options);
    expect(notifications).toMatchObject({
      webhookUrl: values['ALERT_WEBHOOK_URL_FILE'],
      report: { folder: '/reports' },
    });
  });

  it('the systemd unit does not restart a worker after a wrong configuration', () => {
    expect(read('docs/operations/safety-sync.service')).toContain(
      `\nRestartPreventExitStatus=${EXIT.usage}\n`,
    );
  });
});

describe('the image', () => {
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
});
