ALTER TABLE "safety"."day_counts" DROP CONSTRAINT "day_counts_account_id_stream_counted_by_id_status_from_on_pk";--> statement-breakpoint
ALTER TABLE "safety"."day_counts" ALTER COLUMN "records" SET DATA TYPE integer[] USING array["records"];--> statement-breakpoint
ALTER TABLE "safety"."day_counts" ALTER COLUMN "in_service" SET DATA TYPE integer[] USING array["in_service"];--> statement-breakpoint
ALTER TABLE "safety"."day_counts" ADD COLUMN "days" date[];--> statement-breakpoint
UPDATE "safety"."day_counts" c SET "days" = a."days", "records" = a."records", "in_service" = a."in_service" FROM (
	SELECT "account_id", "stream", "counted_by", "id", "status", array_agg("from_on" ORDER BY "from_on") AS "days",
		array_agg("records"[1] ORDER BY "from_on") AS "records", array_agg("in_service"[1] ORDER BY "from_on") AS "in_service"
	FROM "safety"."day_counts" GROUP BY 1, 2, 3, 4, 5) a
WHERE c."to_on" = 'infinity' AND c."account_id" = a."account_id" AND c."stream" = a."stream" AND c."counted_by" = a."counted_by"
	AND c."id" = a."id" AND c."status" = a."status";--> statement-breakpoint
DELETE FROM "safety"."day_counts" WHERE "days" IS NULL;--> statement-breakpoint
DROP INDEX "safety"."day_counts_last_idx";--> statement-breakpoint
ALTER TABLE "safety"."day_counts" DROP COLUMN "from_on";--> statement-breakpoint
ALTER TABLE "safety"."day_counts" DROP COLUMN "to_on";--> statement-breakpoint
ALTER TABLE "safety"."day_counts" ALTER COLUMN "days" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "safety"."day_counts" ADD CONSTRAINT "day_counts_account_id_stream_counted_by_id_status_pk" PRIMARY KEY("account_id","stream","counted_by","id","status");--> statement-breakpoint
ALTER TABLE "safety_sync"."data_issues" DROP COLUMN "identity";
