CREATE TABLE "safety_sync"."forgotten" (
	"account_id" text NOT NULL,
	"pseudonym" text NOT NULL,
	"person" text NOT NULL,
	"words" integer,
	"key_id" text NOT NULL,
	"forgotten_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "forgotten_account_id_pseudonym_pk" PRIMARY KEY("account_id","pseudonym")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."privacy_cleanings" (
	"account_id" text NOT NULL,
	"stream" text NOT NULL,
	"policy" jsonb NOT NULL,
	"position" jsonb,
	"rows_seen" bigint DEFAULT 0 NOT NULL,
	"rows_changed" bigint DEFAULT 0 NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "privacy_cleanings_account_id_stream_pk" PRIMARY KEY("account_id","stream")
);
