-- Every key of a table that is per account contains account_id, so that all of them can be distributed by it. The number
-- of a run stays unique by itself: it comes from one sequence.
ALTER TABLE "safety_sync"."runs" DROP CONSTRAINT "runs_pkey";--> statement-breakpoint
ALTER TABLE "safety_sync"."runs" ADD CONSTRAINT "runs_account_id_run_id_pk" PRIMARY KEY("account_id","run_id");
