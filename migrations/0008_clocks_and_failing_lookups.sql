ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "backfill_clock_offset_ms" bigint;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "clock_offset_ms" bigint;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "older_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "safety_sync"."user_lookups" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "safety_sync"."user_lookups" ADD COLUMN "last_error" text;