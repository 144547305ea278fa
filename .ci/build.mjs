/**
 * Bundles the program and its packages into dist, because Node.js takes longer to find and load hundreds of small files
 * than a command takes to run. Each verb stays a separate file, which is loaded when the verb is called.
 *
 * `--package`: for `npm pack`. npm installs the packages itself, so they are not bundled, and the package is small. Its
 * code is readable and has no maps, which would be as large as the code.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const isPackage = argv.includes('--package');

const { metafile } = await build({
  absWorkingDir: at('.'),
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  ...(isPackage
    ? { packages: 'external' }
    : // Names are kept, because errors and logs show names of classes and functions.
      {
        minifyWhitespace: true,
        minifySyntax: true,
        sourcemap: true,
        sourcesContent: false,
        alias: { undici: './.ci/undici.mjs' },
      }),
  // Packages in CommonJS require the modules of Node.
  banner: {
    js: "import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
});

// If `import()` loads a package in CommonJS, esbuild gives it no named exports. So one of our files imports the package,
// and `import()` loads that file.
const nameless = Object.entries(metafile.inputs)
  .filter(([path]) => path.startsWith('src/'))
  .flatMap(([path, { imports }]) => imports.map((one) => ({ ...one, by: path })))
  .filter(({ kind, path }) => kind === 'dynamic-import' && metafile.inputs[path]?.format === 'cjs')
  .map(({ by, path }) => `${path} by ${by}`);
if (nameless.length > 0) throw new Error(`import() of a package in CommonJS: ${nameless.join(', ')}`);

const LICENSES = 'third-party-licenses.txt';
const packages = new Set(
  Object.keys(metafile.inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
);
const licenses = [...packages].toSorted().flatMap((path) => {
  const { name, version, license } = JSON.parse(readFileSync(at(`${path}/package.json`), 'utf8'));
  const texts = readdirSync(at(path)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  return [
    `${name} ${version} (${license})`,
    ...texts.map((file) => readFileSync(at(`${path}/${file}`), 'utf8').trim()),
  ];
});
if (!isPackage) writeFileSync(at(`dist/${LICENSES}`), `${licenses.join('\n\n')}\n`);

// Only files that no longer belong to the program are removed, because a running worker may still load the unchanged ones.
const written = new Set([
  ...(isPackage ? [] : [LICENSES]),
  ...Object.keys(metafile.outputs).map((path) => basename(path)),
]);
for (const name of readdirSync(at('dist'))) {
  if (!written.has(name)) rmSync(at(`dist/${name}`), { recursive: true });
}
