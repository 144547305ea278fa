ALTER TABLE "safety_sync"."privacy_cleanings" DROP COLUMN "position";--> statement-breakpoint
ALTER TABLE "safety_sync"."privacy_cleanings" DROP COLUMN "rows_seen";--> statement-breakpoint
ALTER TABLE "safety_sync"."privacy_cleanings" DROP COLUMN "rows_changed";--> statement-breakpoint
ALTER TABLE "safety_sync"."privacy_cleanings" DROP COLUMN "started_at";