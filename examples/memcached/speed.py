"""speed placeholder"""
def compare(options):
    return 0
