import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { FOLDERS, folderOf } from './support/folders.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

interface SourceFile {
  /** From `src`, e.g. `engine/api/client.ts`. */
  readonly path: string;
  readonly text: string;
  /** Files of ours that it imports, from `src`. */
  readonly imports: readonly string[];
  /** Packages and Node modules that it imports. */
  readonly packages: readonly string[];
}

function readSources(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = join(folder, name);
      const text = readFileSync(file, 'utf8');
      const specifiers = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
      return {
        path: name.replaceAll('\\', '/'),
        text,
        imports: specifiers
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => relative(SRC, join(dirname(file), specifier)).replaceAll('\\', '/')),
        packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
      };
    });
}

const sources = readSources(SRC);

/** A way from a file back to itself; null when there is none. */
function findCycle(files: readonly SourceFile[]): string[] | null {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] | null => {
    const at = way.indexOf(path);
    if (at >= 0) return [...way.slice(at), path];
    if (done.has(path)) return null;
    for (const next of byPath.get(path)?.imports ?? []) {
      const cycle = visit(next, [...way, path]);
      if (cycle !== null) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const { path } of files) {
    const cycle = visit(path, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

describe('imports', () => {
  it('every folder of src is in the table of import directions', () => {
    expect([...new Set(sources.map(({ path }) => folderOf(path)))].sort()).toEqual(
      Object.keys(FOLDERS).sort(),
    );
  });

  it.each(Object.entries(FOLDERS))('%s imports no folder from above', (folder, { mayImport }) => {
    const wrong = sources
      .filter(({ path }) => folderOf(path) === folder)
      .flatMap(({ path, imports }) => imports.map((imported) => [path, imported] as const))
      .filter(([, imported]) => ![folder, ...mayImport.split(' ')].includes(folderOf(imported)));
    expect(wrong).toEqual([]);
  });

  it('the table of import directions allows no import that is not in the code', () => {
    const unused = Object.entries(FOLDERS).map(([folder, { mayImport }]) => {
      const imported = sources
        .filter(({ path }) => folderOf(path) === folder)
        .flatMap(({ imports }) => imports);
      return [
        folder,
        mayImport
          .split(' ')
          .filter((other) => other !== '' && !imported.some((path) => folderOf(path) === other)),
      ] as const;
    });
    expect(unused.filter(([, others]) => others.length > 0)).toEqual([]);
  });

  it('imports form no cycle', () => {
    expect(findCycle(sources)).toBeNull();
  });

  it('the sandbox imports only the names of durations from the rest of src', () => {
    const imported = sources
      .filter(({ path }) => folderOf(path) === 'sandbox')
      .flatMap(({ imports }) => imports.filter((path) => folderOf(path) !== 'sandbox'));
    expect([...new Set(imported)].filter((path) => path !== 'shared/time.ts')).toEqual([]);
  });

  it('postgres.js is imported by two files only: the connection, and the session of the embedded server', () => {
    const users = sources.filter(({ packages }) => packages.includes('postgres')).map(({ path }) => path);
    expect(users.sort()).toEqual(['embedded/session.ts', 'engine/database/connection.ts']);
  });

  it('the HTTP client is imported by one file only', () => {
    const users = sources.filter(({ packages }) => packages.includes('undici'));
    expect(users.map(({ path }) => path)).toEqual(['shared/http-agent.ts']);
  });
});

/** All imports of a file, direct and indirect. */
function reachedFrom(path: string, files: readonly SourceFile[]): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const imported of byPath.get(next)?.imports ?? []) {
      if (reached.has(imported)) continue;
      reached.add(imported);
      queue.push(imported);
    }
  }
  return reached;
}

it('normalizing is pure: no file of a stream reaches a connection', () => {
  const wrong = sources
    .filter(({ path }) => folderOf(path) === 'engine/streams' || path === 'engine/loading/record.ts')
    .filter(({ path }) =>
      [...reachedFrom(path, sources)].some((reached) => folderOf(reached) === 'engine/database'),
    );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

describe('the drawing', () => {
  const design = readFileSync(join(ROOT, 'docs/design.md'), 'utf8');

  it('a follow-up passes the files that docs/design.md draws, and two neighbours on the way import one another', () => {
    const table = design.split('\n### A follow-up from')[1]?.split('\n### ')[0] ?? '';
    const way = [...table.matchAll(/^\| `([\w/-]+\.ts)`/gm)].map(([, path = '']) => path);
    expect(way.length).toBeGreaterThan(5);
    expect(way.filter((path) => !sources.some((file) => file.path === path))).toEqual([]);
    // Loading receives a stream as a declaration.
    const known = way.filter((path) => folderOf(path) !== 'engine/streams');
    const isNextTo = (one: string, other: string): boolean =>
      reachedFrom(one, sources).has(other) || reachedFrom(other, sources).has(one);
    expect(known.filter((path, at) => at > 0 && !isNextTo(known[at - 1] ?? '', path))).toEqual([]);
  });

  it('in the drawing of folders each folder imports only folders above it', () => {
    const drawn = Object.keys(FOLDERS);
    const upwards = Object.entries(FOLDERS).flatMap(([folder, { mayImport }]) =>
      mayImport
        .split(' ')
        .filter((other) => drawn.indexOf(other) >= drawn.indexOf(folder))
        .map((other) => [folder, other]),
    );
    expect(upwards).toEqual([]);
  });
});

it.each([
  ['row-level security policies are written in one file', 'create policy', ['warehouse/access.ts']],
  [
    'only the entry file reads the environment of the process, and the variables of curl and libpq are read where they count',
    'process.env',
    ['engine/database/database-url.ts', 'main.ts', 'shared/http-agent.ts'],
  ],
])('%s', (_, part, files) => {
  const users = sources.filter(({ text }) => text.includes(part)).map(({ path }) => path);
  expect(users.sort()).toEqual(files);
});

describe('files', () => {
  it('every file has at most 300 lines', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 300).map(({ path }) => path);
    expect(long).toEqual([]);
  });

  it('no file decides by the text of an error, because recovery and code exist for that', () => {
    const wrong = sources.filter(({ text }) => /\.message\.(includes|startsWith|match)\(/.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});
