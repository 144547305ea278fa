import { existsSync, readFileSync } from 'node:fs';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { buildProgram } from '../src/cli/program.ts';
import { EXIT } from '../src/cli/run-results.ts';
import { createTerminal } from '../src/cli/terminal.ts';
import { VARIABLES } from '../src/config/variables.ts';
import { ERROR_KINDS, type Recovery } from '../src/shared/errors.ts';
import { STREAMS } from '../src/streams/index.ts';
import * as control from '../src/database/control-tables.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const readme = read('README.md');

/** The cells of every table row of the README that begins with this cell. */
function rowsOf(first: string): string[][] {
  return tableRows().filter((cells) => cells[0] === first);
}

function tableRows(): string[][] {
  return readme
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

const program = buildProgram(
  { env: {}, terminal: createTerminal({}), signal: new AbortController().signal },
  () => undefined,
);
const verbs = program.commands.map((command) => command.name());

describe('the README has', () => {
  it.each(Object.entries(VARIABLES))('%s with its default', (name, declared) => {
    const fallback = declared.default ?? '';
    expect(rowsOf(`\`${name}\``).map((cells) => cells[1])).toEqual([
      fallback === '' ? '–' : `\`${fallback}\``,
    ]);
  });

  it('no variable that does not exist', () => {
    const named = [...readme.matchAll(/`([A-Z]+(?:_[A-Z]+)+)[`=]/g)].map((match) => match[1] ?? '');
    const beside = ['NAME_FILE', 'SAFETY_TOKEN_FILE', 'NO_COLOR', 'SAFETY_SYNC_CONTAINER'];
    const ofTests = ['TEST_DATABASE_URL', 'TEST_POSTGRES_IMAGE', 'TEST_CHROMIUM'];
    const known = new Set([...Object.keys(VARIABLES), ...beside, ...ofTests]);
    // Those of OpenTelemetry are its own.
    expect(named.filter((name) => !known.has(name) && !name.startsWith('OTEL_'))).toEqual([]);
  });

  it.each(program.commands.map((command) => [command.name(), command] as const))(
    '%s with its arguments and options, and no others',
    (verb, command) => {
      const usage = [verb, ...command.registeredArguments.map((argument) => `[${argument.name()}...]`)].join(
        ' ',
      );
      expect(rowsOf(`\`${usage}\``).length).toBeGreaterThan(0);
      const options = command.options.map(({ flags }) => flags);
      expect([...documentedOptions(verb).keys()].sort()).toEqual(options.sort());
    },
  );

  it('the default of every option that has one', () => {
    for (const command of program.commands) {
      for (const { flags, defaultValue } of command.options) {
        if (defaultValue === undefined || defaultValue === '0') continue;
        expect(documentedOptions(command.name()).get(flags), flags).toMatch(
          new RegExp(`\\b${String(defaultValue)}\\b`),
        );
      }
    }
  });

  const exitCodes: Record<Recovery, number> = {
    retry: EXIT.failed,
    fail_stream: EXIT.failed,
    fail_run: EXIT.refused,
    fix_usage: EXIT.usage,
  };

  it.each(Object.entries(ERROR_KINDS))(
    '%s with its exit code and what to do',
    (code, { recovery, advice }) => {
      const [cells, ...others] = rowsOf(`\`${code}\``);
      expect(others).toEqual([]);
      expect(cells?.slice(2)).toEqual([String(exitCodes[recovery]), advice]);
    },
  );

  it('every exit code', () => {
    for (const code of Object.values(EXIT)) expect(rowsOf(String(code))).toHaveLength(1);
  });

  it.each(
    STREAMS.flatMap(({ parent, children }) => [parent, ...children]).map(
      (table) => [getTableConfig(table).name, getTableConfig(table)] as const,
    ),
  )('the table safety.%s with its key', (_, table) => {
    expect(rowsOf(`\`${table.name}\``).map((cells) => cells[1])).toContain(keyOf(table, ['account_id']));
  });

  it.each(
    Object.values(control)
      .filter((value) => value instanceof PgTable)
      .map((table) => [getTableConfig(table).name, getTableConfig(table)] as const),
  )('the table safety_sync.%s with its key', (_, table) => {
    expect(rowsOf(`\`${table.name}\``).map((cells) => cells[1])).toContain(keyOf(table, []));
  });

  it('the two commands, which package.json provides', () => {
    expect(readme).toContain('npm ci && npx safety-sync demo\n');
    expect(readme).toContain('npm ci && npm test\n');
    expect(manifest.bin).toEqual({ 'safety-sync': 'dist/main.js' });
    expect(manifest.scripts.prepare).toBe('node .ci/prepare.mjs');
    expect(manifest.scripts.test).toBe('vitest run');
    expect(verbs).toContain('demo');
    expect(readme).toContain(`Node ${manifest.engines.node.replace('>=', '')} or later`);
  });

  it('no link to a file or a heading that is not there', () => {
    const headings = [...readme.matchAll(/^#+ (.*)$/gm)].map(
      (match) => `#${(match[1] ?? '').toLowerCase().replaceAll(' ', '-')}`,
    );
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
    const isThere = (link: string) =>
      link.startsWith('#') ? headings.includes(link) : existsSync(new URL(`../${link}`, import.meta.url));
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !isThere(link))).toEqual([]);
  });
});

/** Of the table of options: flags to the text of their row. An empty first cell goes on with the verb above. */
function documentedOptions(verb: string): Map<string, string> {
  const found = new Map<string, string>();
  let current = '';
  for (const cells of tableRows()) {
    const [first = '', flags = ''] = cells;
    current = first === '' ? current : first;
    if (current !== `\`${verb}\`` || !flags.startsWith('`--')) continue;
    const text = cells.slice(1).join(' ');
    for (const [, one = ''] of text.matchAll(/`(--[a-z-]+(?: <[^>]+>)?)`/g)) found.set(one, text);
  }
  return found;
}

function keyOf(table: ReturnType<typeof getTableConfig>, left: readonly string[]): string {
  const composed = table.primaryKeys.flatMap(({ columns }) => columns.map(({ name }) => name));
  const single = table.columns.filter(({ primary }) => primary).map(({ name }) => name);
  return `\`${[...composed, ...single].filter((name) => !left.includes(name)).join(', ')}\``;
}

describe('elsewhere', () => {
  it('.env.example has every variable, with its default commented out', () => {
    const lines = read('.env.example').split('\n');
    for (const [name, { default: fallback = '' }] of Object.entries(VARIABLES) as [
      string,
      { default?: string },
    ][]) {
      const values = lines.flatMap((line) => new RegExp(`^(#?)${name}=(.*)$`).exec(line) ?? []);
      expect(values, name).not.toEqual([]);
      if (fallback !== '') expect(values[2]?.replaceAll('"', ''), name).toBe(fallback);
      if (fallback !== '') expect(values[1], name).toBe('#');
    }
  });

  it('.env.example has no variable that does not exist', () => {
    const named = [...read('.env.example').matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map((match) => match[1] ?? '');
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });

  it.each(['README.md', 'Dockerfile', 'docker-compose.yml', 'docs/design.md', 'docs/sandbox.md'])(
    '%s calls only verbs that exist',
    (path) => {
      const text = read(path);
      const called = [
        ...text.matchAll(/(?:npx safety-sync|`safety-sync|main\.js) ([a-z][a-z-]+)/g),
        ...text.matchAll(/^(?:CMD|\s*command:) \[['"]?([a-z-]+)/gm),
      ].map((match) => match[1] ?? '');
      expect(called.filter((verb) => !verbs.includes(verb))).toEqual([]);
    },
  );

  it.each(['Dockerfile', 'docker-compose.yml'])('%s sets only variables that exist', (path) => {
    const named = [...read(path).matchAll(/\b((?:SAFETY|SYNC|API|HTTP|RETRY|LOG)_[A-Z_]+)\b/g)]
      .map((match) => match[1] ?? '')
      .map((name) => (name in VARIABLES ? name : name.replace(/_FILE$/, '')))
      .filter((name) => !['SAFETY_SYNC_CONTAINER', 'SAFETY_SYNC_IMAGE'].includes(name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });
});
