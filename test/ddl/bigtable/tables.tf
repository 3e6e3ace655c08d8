# The metadata that Rowan keeps of entities (rowan_tables) is not included: rowan schema apply writes it.

variable "bigtable_instance" {
  type = string
}

# 1 of 4 split keys cannot be written as text here: rowan schema apply creates the table with all of them.
# The namespace shop is part of the name; rowan schema apply records it.
# Omitted, not supported by Bigtable: maxFileSize 1073741824.
# Omitted, not supported by Bigtable: log compression ZSTD, keepDeletedCells TRUE.
resource "google_bigtable_table" "shop__orders" {
  name                = "shop..orders"
  instance_name       = var.bigtable_instance
  deletion_protection = "PROTECTED"
  split_keys          = ["c", "it's", "a,b"]

  column_family {
    family = "d"
  }

  column_family {
    family = "end"
  }

  column_family {
    family = "log"
  }

  column_family {
    family = "old"
  }
}

resource "google_bigtable_gc_policy" "shop__orders_d" {
  instance_name = var.bigtable_instance
  table         = google_bigtable_table.shop__orders.name
  column_family = "d"
  gc_rules      = jsonencode({"rules":[{"max_version":1}]})
}

resource "google_bigtable_gc_policy" "shop__orders_end" {
  instance_name = var.bigtable_instance
  table         = google_bigtable_table.shop__orders.name
  column_family = "end"
  gc_rules      = jsonencode({"rules":[{"max_age":"60s"}]})
}

resource "google_bigtable_gc_policy" "shop__orders_log" {
  instance_name = var.bigtable_instance
  table         = google_bigtable_table.shop__orders.name
  column_family = "log"
  gc_rules      = jsonencode({"mode":"union","rules":[{"max_version":5},{"mode":"intersection","rules":[{"max_age":"86400s"},{"max_version":1}]}]})
}

resource "google_bigtable_table" "_2-plain" {
  name                = "2-plain"
  instance_name       = var.bigtable_instance
  deletion_protection = "PROTECTED"

  column_family {
    family = "f"
  }
}

resource "google_bigtable_gc_policy" "_2-plain_f" {
  instance_name = var.bigtable_instance
  table         = google_bigtable_table._2-plain.name
  column_family = "f"
  gc_rules      = jsonencode({"rules":[{"max_version":1}]})
}
