import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Mutation } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The first type error of a break, or null. A break that does not compile throws wherever it is reached, and any test notices
 * that. One program serves all breaks, because to build it takes longer than to check a file of it.
 */
export function createTypeCheck(): (mutation: Mutation) => string | null {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const sources = fileNames.filter((file) => file.startsWith(join(ROOT, 'src')));
  let broken: { readonly path: string; readonly text: string } | null = null;
  let version = 0;
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getScriptFileNames: () => sources,
    getScriptVersion: (file) => (file === broken?.path ? String(version) : '0'),
    getScriptSnapshot: (file) => {
      const text = file === broken?.path ? broken.text : ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    // A name that is not used any more is no mistake of a break.
    getCompilationSettings: () => ({
      ...options,
      noUnusedLocals: false,
      noUnusedParameters: false,
      allowUnreachableCode: true,
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  return ({ file, search, replace }) => {
    if (!file.endsWith('.ts')) return null;
    const path = join(ROOT, file);
    version += 1;
    broken = { path, text: readFileSync(path, 'utf8').replace(search, () => replace) };
    const [error] = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    return error === undefined ? null : ts.flattenDiagnosticMessageText(error.messageText, ' ');
  };
}
