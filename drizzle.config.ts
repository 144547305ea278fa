import { defineConfig } from 'drizzle-kit';

/** `npm run migrations:generate` compares these tables with the last migration and writes the next one. */
export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/streams/*.ts',
    './src/warehouse/control-tables.ts',
    './src/warehouse/reporting.ts',
    './src/warehouse/calendar.ts',
  ],
  out: './migrations',
  schemaFilter: ['safety', 'safety_sync'],
});
