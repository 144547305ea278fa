CREATE TABLE "safety_sync"."reader_accounts" (
	"role" "regrole" PRIMARY KEY NOT NULL,
	"accounts" text[] NOT NULL
);
