/** The dbt package of docs/dbt: its files, and its models as the relations that dbt builds of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { TestWorker } from './world.ts';

const FOLDER = new URL('../../docs/dbt/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FOLDER), 'utf8');
export const readYaml = (path: string): unknown => parse(read(path));

/** Where dbt would build. */
export const TARGET = 'dbt_test';

const sources = (readYaml('models/sources.yml') as { sources: [{ tables: { name: string }[] }] }).sources[0]
  .tables;
export const modelPaths = readdirSync(new URL('models/', FOLDER), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sql'))
  .map((path) => path.replaceAll('\\', '/'));
export const nameOf = (path: string): string => path.replace(/^.*\/|\.sql$/g, '');

export function relationOf(call: string): string {
  const [, kind, first = '', second = ''] = /^(ref|source)\('(\w+)'(?:, '(\w+)')?\)$/.exec(call) ?? [];
  if (kind === 'ref' && modelPaths.some((path) => nameOf(path) === first)) return `${TARGET}.${first}`;
  if (kind === 'source' && first === 'safety' && sources.some(({ name }) => name === second))
    return `safety.${second}`;
  throw new Error(`no such relation: ${call}`);
}

/** Fills in relations, and variables by their defaults. */
export const render = (sql: string): string =>
  sql.replace(
    /\{\{ (.*?) \}\}/g,
    (_, call: string) => /^var\('\w+', '(\w+)'\)$/.exec(call)?.[1] ?? relationOf(call),
  );

/** Those that others refer to first. */
function inOrder(): string[] {
  const built: string[] = [];
  const build = (path: string): void => {
    if (built.includes(path)) return;
    for (const [, name] of read(`models/${path}`).matchAll(/ref\('(\w+)'\)/g))
      for (const other of modelPaths.filter((one) => nameOf(one) === name)) build(other);
    built.push(path);
  };
  for (const path of modelPaths) build(path);
  return built;
}

export async function buildModels({ query }: Pick<TestWorker, 'query'>): Promise<void> {
  await query(`create schema ${TARGET}`);
  for (const path of inOrder()) {
    const kind = path.startsWith('aggregates/') ? 'table' : 'view';
    await query(`create ${kind} ${TARGET}.${nameOf(path)} as (${render(read(`models/${path}`))})`);
  }
}
