/**
 * Bundles the program with the packages that it uses into dist: Node takes longer to find and load hundreds of small
 * files than a command takes to run. Each verb stays a file of its own, loaded when it is called.
 *
 * `--package`: for `npm pack`. npm installs the packages beside ours, so they stay out, and the package is small. Its code is
 * readable and has no maps, which would be as large as the code.
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
    : // Names stay: errors and logs show those of classes and functions.
      { minifyWhitespace: true, minifySyntax: true, sourcemap: true, sourcesContent: false }),
  // Packages in CommonJS require the modules of Node.
  banner: {
    js: "import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
});

// esbuild gives a package in CommonJS no names where `import()` loads it: a file of ours imports it, and is loaded then.
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

// A worker that runs may still load what is the same as before: only what no longer belongs to the program goes.
const written = new Set([
  ...(isPackage ? [] : [LICENSES]),
  ...Object.keys(metafile.outputs).map((path) => basename(path)),
]);
for (const name of readdirSync(at('dist'))) {
  if (!written.has(name)) rmSync(at(`dist/${name}`), { recursive: true });
}
