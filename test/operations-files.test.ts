/** Rules, dashboard, manifests and runbook against the program: what they name has to be there. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { configuredChannels } from '../src/operate/alerts/notifier.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { type Environment, readVariables } from '../src/config/read-variables.ts';
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

  it('the runbook tests a new token with settings that the worker of the runbook accepts', async () => {
    const steps = runbook.split('## Rotate the token')[1]?.split('\n## ')[0] ?? '';
    const tried = /`((?:\w+=\S+ )+)npx safety-sync check`/.exec(steps)?.[1] ?? '';
    const assignments = [...tried.matchAll(/(\w+)=(\S+)/g)];
    expect(assignments).not.toEqual([]);
    const folder = await folderForTest('safety-sync-token-');
    const write = (name: string) => {
      writeFileSync(join(folder, name), name);
      return join(folder, name);
    };
    const named = assignments.map(([, name = '', value = '']) => [
      name,
      name.endsWith('_FILE') ? write(value) : value,
    ]);
    const env = Object.fromEntries([['SAFETY_TOKEN_FILE', write('old_token')], ...named]) as Environment;
    const { values, problems } = readVariables(env);
    expect(problems).toEqual([]);
    expect(values.SAFETY_TOKEN).toBe('new_token');
  });

  it('the runbook moves the data of the old PostgreSQL before the new one starts, because its image refuses to start beside old data', () => {
    const recipe = runbook.split('## A new major version of PostgreSQL')[1]?.split('```')[1] ?? '';
    const steps = [
      'pg_dump --username',
      'docker compose stop postgres\n',
      'mv postgres /var/lib/postgresql/18/docker /var/lib/postgresql/18/before\n',
      'docker compose up --detach --wait postgres\n',
      'pg_restore --username',
    ].map((step) => recipe.indexOf(step));
    expect(steps).not.toContain(-1);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
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

  it('docker-compose.yml mounts only files that exist', () => {
    const mounted = [...read('docker-compose.yml').matchAll(/- \.\/(docs\/[^:]+):/g)].map(
      (match) => match[1] ?? '',
    );
    expect(mounted.length).toBeGreaterThan(3);
    expect(mounted.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
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

  it('the manifest for alerts mounts every secret that it names, and is a complete configuration for the worker', () => {
    const overlay = parse(read('docs/operations/compose.alerts.yml')) as Compose;
    const { secrets = [], environment = {} } = overlay.services['worker'] ?? {};
    expect(secrets).toEqual(Object.keys(overlay.secrets));
    const values: Readonly<Record<string, string>> = {
      ALERT_WEBHOOK_URL: 'https://hooks.example.com/a',
      SMTP_URL: 'smtp://me:password@mail.example.com:587',
    };
    const env = Object.entries(environment).map(([name, value]) => {
      if (!name.endsWith('_FILE')) return [name, value];
      expect(secrets).toContain(value.replace('/run/secrets/', ''));
      const plain = name.replace(/_FILE$/, '');
      return [plain, values[plain]];
    });
    const config = loadConfig(Object.fromEntries(env) as Record<string, string>, {
      needsService: false,
      isTerminal: false,
    });
    expect(configuredChannels(config.notifications).map(({ name }) => name)).toEqual(['webhook', 'mail']);
    expect(config.notifications.report).toMatchObject({
      folder: '/reports',
      emailTo: ['managers@example.com'],
    });
  });

  it('the manifests for Kubernetes select the same pods and the same port', () => {
    interface Selecting {
      kind: string;
      spec?: {
        selector?: { matchLabels?: object; app?: string };
        podSelector?: { matchLabels?: object };
        podMetricsEndpoints?: { port: string }[];
        template?: {
          metadata: { labels: object };
          spec: { containers: { ports: { name: string }[] }[] };
        };
      };
    }
    const files = ['docs/operations/kubernetes.yml', 'docs/operations/kubernetes.podmonitor.yml'];
    const all = files.flatMap((path) =>
      parseAllDocuments(read(path)).map((document) => document.toJS() as Selecting),
    );
    const pod = all.find(({ kind }) => kind === 'Deployment')?.spec?.template;
    const selecting = all.filter(({ kind }) => kind !== 'ConfigMap');
    expect(selecting.map(({ kind }) => kind).sort()).toEqual([
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'PodMonitor',
      'Service',
    ]);
    for (const { kind, spec } of selecting) {
      const { selector, podSelector } = spec ?? {};
      expect(podSelector?.matchLabels ?? selector?.matchLabels ?? selector, kind).toEqual(
        pod?.metadata.labels,
      );
    }
    const monitor = all.find(({ kind }) => kind === 'PodMonitor');
    const ports = pod?.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
    expect(monitor?.spec?.podMetricsEndpoints?.map(({ port }) => port)).toEqual(ports);
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
