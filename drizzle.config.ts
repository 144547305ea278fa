import { defineConfig } from 'drizzle-kit';

/** `npm run migrations:generate` compares these tables with the last migration and writes the next one. */
export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/engine/streams/*.ts',
    './src/engine/control-tables/control-tables.ts',
    './src/warehouse/access.ts',
    './src/warehouse/calendar.ts',
    './src/warehouse/labels.ts',
    './src/warehouse/view-settings.ts',
    './src/engine/history/*.ts',
  ],
  out: './migrations',
  schemaFilter: ['safety', 'safety_sync'],
});
