/** Generated documents, complete or in sections: tests compare them, `npm run docs:generate` writes them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import { expect } from 'vitest';

/** The complete text, or the sections by name: `<!-- generated: NAME -->` … `<!-- end -->`. */
export type Generated = string | Readonly<Record<string, string>>;

const isWriting = process.env['WRITE_DOCS'] === '1';

const SECTION = /^<!-- generated: (.+) -->\n[^]*?^<!-- end -->$/gm;

/** Inserts each text into its section, in lines of the documents' width. Throws if sections and texts differ. */
async function fillSections(document: string, texts: Readonly<Record<string, string>>): Promise<string> {
  const marked = [...document.matchAll(SECTION)].map(([, name]) => name);
  expect(marked, 'sections of the document, and those that are generated').toEqual(Object.keys(texts));
  const wrapped = new Map<string, string>();
  for (const [name, text] of Object.entries(texts)) {
    const options = { parser: 'markdown', proseWrap: 'always', printWidth: 120 } as const;
    wrapped.set(name, isWriting ? await prettier.format(text, options) : text);
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

/** Without what the formatter changes: `npm run format:check` holds that, and formatting takes seconds. */
const bare = (text: string): string => text.replace(/[\s|*_'"\\-]+/g, '');

/** By path from the project root. When it writes, it formats the whole document as `npm run format` does. */
export async function holdGenerated(documents: Readonly<Record<string, Generated>>): Promise<void> {
  for (const [path, generated] of Object.entries(documents)) {
    const file = fileURLToPath(new URL(`../../${path}`, import.meta.url));
    const text = typeof generated === 'string' ? generated : await fillSections(read(file), generated);
    if (isWriting) {
      const options = await prettier.resolveConfig(file);
      const { inferredParser } = await prettier.getFileInfo(file);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(
        file,
        inferredParser === null ? text : await prettier.format(text, { ...options, filepath: path }),
      );
    }
    expect(bare(read(file)) === bare(text), `${path} is as generated; else run npm run docs:generate`).toBe(
      true,
    );
  }
}

/** A Markdown table; cells are single lines. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
