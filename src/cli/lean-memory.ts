/** Keeps the memory of the process small; imported before the program is. */
import * as nodeModule from 'node:module';
import { setFlagsFromString } from 'node:v8';

interface Resolved {
  readonly url: string;
  readonly format?: string;
  readonly shortCircuit?: boolean;
}

/** Of Node 22.15 and later. */
interface Hooks {
  registerHooks?(hooks: {
    resolve(
      specifier: string,
      context: { readonly parentURL?: string },
      next: (specifier: string, context: { readonly parentURL?: string }) => Resolved,
    ): Resolved;
  }): void;
}

// On a machine with much memory V8 lets garbage grow to several times what is alive; this program promises not to.
setFlagsFromString('--heap-growing-percent=50');

/**
 * Node 22.19 and later parse the package.json of a package for each of its files (nodejs/node#59733). That of drizzle-orm
 * has 180 kB, and there are hundreds of files: 230 MB of garbage before the program has begun. A relative import inside of
 * the package needs nothing of it.
 */
(nodeModule as Hooks).registerHooks?.({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    return specifier.startsWith('.') && parentURL?.includes('/node_modules/drizzle-orm/') === true
      ? { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
      : next(specifier, context);
  },
});
