/** Documents that are generated, whole or between marks: tests hold them, `npm run docs:generate` writes them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import { expect } from 'vitest';

/** The text of the whole document, or of its sections by name: `<!-- generated: NAME -->` … `<!-- end -->`. */
export type Generated = string | Readonly<Record<string, string>>;

export const isWriting = process.env['WRITE_DOCS'] === '1';

const SECTION = /^<!-- generated: (.+) -->\n[^]*?^<!-- end -->$/gm;

/** Puts each text, in lines of the documents' width, between the marks of its name. Throws where marks and texts differ. */
export async function fillSections(
  document: string,
  texts: Readonly<Record<string, string>>,
): Promise<string> {
  const marked = [...document.matchAll(SECTION)].map(([, name]) => name);
  expect(marked, 'sections of the document, and those that are generated').toEqual(Object.keys(texts));
  const wrapped = new Map<string, string>();
  for (const [name, text] of Object.entries(texts)) {
    const options = { parser: 'markdown', proseWrap: 'always', printWidth: 120 } as const;
    wrapped.set(name, await prettier.format(text, options));
  }
  return document.replace(
    SECTION,
    (_, name: string) => `<!-- generated: ${name} -->\n\n${wrapped.get(name) ?? ''}\n<!-- end -->`,
  );
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

/** By path from the root of the project. Formats as `npm run format` does, the text between the sections, too. */
export async function holdGenerated(documents: Readonly<Record<string, Generated>>): Promise<void> {
  for (const [path, generated] of Object.entries(documents)) {
    const file = fileURLToPath(new URL(`../../${path}`, import.meta.url));
    const text = typeof generated === 'string' ? generated : await fillSections(read(file), generated);
    const options = await prettier.resolveConfig(file);
    const { inferredParser } = await prettier.getFileInfo(file);
    const finished =
      inferredParser === null ? text : await prettier.format(text, { ...options, filepath: path });
    if (isWriting) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, finished);
    }
    expect(read(file), `${path}: run npm run docs:generate`).toBe(finished);
  }
}

/** A table of Markdown; a cell is on one line. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
