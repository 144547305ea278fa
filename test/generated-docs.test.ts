/** Documents that are generated from the code alone. Those from the database: test/integration/generated-docs.test.ts. */
import { it } from 'vitest';
import { holdGenerated } from './support/generated.ts';
import { renderCodeDocs } from './support/render-code.ts';

const documents = await renderCodeDocs();

it.each(Object.entries(documents))('%s contains its generated texts', async (path, generated) => {
  await holdGenerated({ [path]: generated });
});
