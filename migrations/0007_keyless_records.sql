ALTER TABLE "safety"."equipment" ADD COLUMN "_asked_type" text;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "keyless" jsonb;