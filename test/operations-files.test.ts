/** Rules, dashboard, manifests and runbook against the program: what they name has to be there. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { VARIABLES } from '../src/config/variables.ts';
import { buildStatus } from '../src/ops/build-status.ts';
import { createMetrics } from '../src/ops/metrics.ts';
import { ERROR_KINDS } from '../src/shared/errors.ts';
import { statusFacts } from './support/status-facts.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const rules = read('docs/operations/prometheus-rules.yml');
const dashboard = read('docs/operations/grafana-dashboard.json');
const runbook = read('docs/operations.md');

async function renderMetrics(): Promise<string> {
  const metrics = createMetrics({ version: '1', accountIds: ['default'] });
  const text = await metrics.render(buildStatus(statusFacts()));
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

describe('metrics', () => {
  it.each([
    ['the rules', rules],
    ['the dashboard', dashboard],
  ])('%s use only those that exist', async (_, text) => {
    const exported = await exportedNames();
    expect(namedIn(text).length).toBeGreaterThan(5);
    expect(namedIn(text).filter((name) => !exported.has(name))).toEqual([]);
  });

  it('each say what they mean', async () => {
    const helps = [...(await renderMetrics()).matchAll(/^# HELP (safety_sync_\S+) (.*)$/gm)];
    expect(helps.length).toBeGreaterThan(20);
    expect(helps.filter(([, , help = '']) => help.length < 10)).toEqual([]);
  });

  it('tell the same status twice as the same values', async () => {
    const ours = (text: string) => text.split('\n').filter((line) => line.startsWith('safety_sync_'));
    expect(ours(await renderMetrics())).toEqual(ours(await renderMetrics()));
  });
});

describe('the runbook', () => {
  it('has every alert, and every alert names its place there', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '');
    const places = [...rules.matchAll(/runbook: docs\/operations\.md#(\w+)/g)].map((match) => match[1]);
    expect([...runbook.matchAll(/^### (\w+)$/gm)].map((match) => match[1])).toEqual(alerts);
    expect(places).toEqual(alerts.map((alert) => alert.toLowerCase()));
  });

  it('has every error code', () => {
    expect(Object.keys(ERROR_KINDS).filter((code) => !runbook.includes(`\`${code}\``))).toEqual([]);
  });

  it('links only to what is there', () => {
    const links = [...runbook.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !existsSync(new URL(`../docs/${link}`, import.meta.url)))).toEqual([]);
  });
});

describe('manifests', () => {
  it.each([
    'docs/operations/kubernetes.yml',
    'docs/operations/compose.accounts.yml',
    'docs/operations.md',
    'docker-compose.yml',
  ])('%s sets only variables that exist', (path) => {
    const named = [
      ...read(path).matchAll(/\b((?:SAFETY|SYNC|API|HTTP|RETRY|LOG|FRESHNESS|DATABASE)_[A-Z_]+)\b/g),
    ]
      .map((match) => match[1] ?? '')
      .map((name) => (name in VARIABLES ? name : name.replace(/_FILE$/, '')))
      .filter((name) => !['SAFETY_SYNC_CONTAINER', 'SAFETY_SYNC_IMAGE'].includes(name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });

  it('mount only files that are there', () => {
    const mounted = [...read('docker-compose.yml').matchAll(/- \.\/(docs\/[^:]+):/g)].map(
      (match) => match[1] ?? '',
    );
    expect(mounted.length).toBeGreaterThan(3);
    expect(mounted.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
  });

  it('let the container of Kubernetes do nothing but its work', () => {
    const text = read('docs/operations/kubernetes.yml');
    for (const line of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'drop: [ALL]',
      'path: /healthz',
      'path: /readyz',
      'kind: PodDisruptionBudget',
    ]) {
      expect(text).toContain(line);
    }
  });
});
