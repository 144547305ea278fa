/** Every variable as lines of an environment file: `.env.example`, and what `safety-sync settings` prints. */
import { wrapLines } from '../shared/wrap-lines.ts';
import { STREAMS } from '../engine/streams/index.ts';
import { variableGroupsOf } from './variables.ts';

const HEAD = `# Every variable of safety-sync with its default, or an example; safety-sync settings prints this, too. Uncomment what
# differs; docker compose reads a copy named .env by itself, a shell with: set -a; . ./.env; set +a
# Each NAME can also be given as NAME_FILE=path, the path of a file that holds the value; set one of the two.
`;
const COMMENT_WIDTH = 118;

/** Markdown as comment lines, without its links. */
function toComment(markdown: string): string {
  const text = markdown.replace(/ \(\[[^\]]+\]\([^)]+\)\)/g, '').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
  return wrapLines(text, COMMENT_WIDTH).replace(/^ */gm, '# ');
}

export const listSettings = () =>
  Object.entries(variableGroupsOf(STREAMS)).flatMap(([group, variables]) =>
    Object.entries(variables).map(([name, { about, example = null, secret, ...one }]) => ({
      group,
      name,
      default: one.default ?? null,
      example,
      is_secret: secret,
      about,
    })),
  );

export function renderSettings(): string {
  let last = '';
  const lines = listSettings().flatMap(({ group, name, about, example, ...one }) => {
    const heading = group === last ? [] : [`${last === '' ? '' : '\n'}# --- ${group.toLowerCase()} ---\n`];
    last = group;
    const value = example ?? one.default ?? '';
    return [...heading, toComment(about), `#${name}=${value.includes(' ') ? JSON.stringify(value) : value}`];
  });
  return `${HEAD}\n${lines.join('\n')}\n`;
}
